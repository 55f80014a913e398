package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// span is the range of the text that holds the copy of a function for a mutant.
type span struct {
	from, to int
	mutant   *mutant
}

// edit replaces a part of the source by text.
type edit struct {
	from, to int
	text     string
}

// weave writes the mutants of a file into its text. The function
//
//	func (l Layer) Forward(x Expr) Expr { … }
//
// with mutant 7 becomes the two
//
//	func (l Layer) Forward(x Expr) Expr { mutantHits[3] = 1; switch mutantID { case 7: return l.mutant7(x) }; … }
//	func (l Layer) mutant7(x Expr) Expr { … }
//
// and every other block with a change also records that it is entered.
func weave(fset *token.FileSet, f *file, mutants []*mutant) (text string, spans []span) {
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	var edits []edit
	var copies []string
	calls, noted := map[*ast.FuncDecl]string{}, map[int]bool{}
	for _, m := range mutants {
		d := m.decl
		s := signatureOf(f, d, at)
		name := fmt.Sprintf("mutant%d", m.id)
		if calls[d] == "" {
			edits = append(edits, edit{at(d.Pos()), at(d.Body.Lbrace), s.head(d.Name.Name)})
		}
		call := s.receiver + name + s.typeArgs + "(" + s.args + ")"
		if d.Type.Results != nil {
			call = "return " + call
		} else {
			call += "; return"
		}
		calls[d] += fmt.Sprintf("case %d: %s; ", m.id, call)
		if !noted[m.block] {
			noted[m.block] = true
			edits = append(edits, edit{m.block, m.block, fmt.Sprintf(" mutantHits[%d] = 1; ", m.hit)})
		}
		body := replace(f.text[:at(d.Body.End())], []edit{{m.useAt, m.useAt, m.use}, {at(m.from), at(m.to), m.text}})
		copies = append(copies, "\n"+s.head(name)+body[at(d.Body.Lbrace):])
	}
	for d, cases := range calls {
		brace := at(d.Body.Lbrace) + 1
		edits = append(edits, edit{brace, brace, "switch mutantID { " + cases + "}; "})
	}
	text = replace(f.text, edits)
	for i, c := range copies {
		spans = append(spans, span{len(text), len(text) + len(c), mutants[i]})
		text += c
	}
	return text, spans
}

// replace returns the text with the edits, which must not overlap.
func replace(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	last := 0
	for _, e := range edits {
		out.WriteString(text[last:e.from] + e.text)
		last = e.to
	}
	return out.String() + text[last:]
}
