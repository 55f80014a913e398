package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// span is where the copy of a function for a mutant stands in the text.
type span struct {
	from, to int
	mutant   *mutant
}

// edit puts text in the place of a part of the source.
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
// where the other blocks that hold a change note as well that they are entered. Lines keep their numbers.
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
		body := f.text[at(d.Body.Lbrace):m.useAt] + m.use + f.text[m.useAt:at(m.from)] + m.text + f.text[at(m.to):at(d.Body.End())]
		copies = append(copies, "\n"+s.head(name)+body)
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

// replace makes the edits, which do not overlap.
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

// signature is the head of a function in which every parameter has a name to pass it on by.
type signature struct {
	receiver, typeArgs, args  string // "l.", "[T]", "x, shape..."
	before, typeParams, after string // around the name
}

func (s signature) head(name string) string {
	return "func " + s.before + name + s.typeParams + s.after
}

func signatureOf(f *file, d *ast.FuncDecl, at func(token.Pos) int) (s signature) {
	text := func(n ast.Node) string { return f.text[at(n.Pos()):at(n.End())] }
	unnamed := 0
	fields := func(list *ast.FieldList) (decls, names []string) {
		for _, field := range list.List {
			ids := field.Names
			if len(ids) == 0 {
				ids = []*ast.Ident{{Name: "_"}}
			}
			for _, id := range ids {
				name := id.Name
				if name == "_" {
					name = fmt.Sprintf("mutantArg%d", unnamed)
					unnamed++
				}
				decls = append(decls, name+" "+text(field.Type))
				if _, variadic := field.Type.(*ast.Ellipsis); variadic {
					name += "..."
				}
				names = append(names, name)
			}
		}
		return decls, names
	}
	if d.Recv != nil {
		decls, names := fields(d.Recv)
		s.before, s.receiver = "("+decls[0]+") ", names[0]+"."
	}
	if list := d.Type.TypeParams; list != nil {
		var names []string
		for _, field := range list.List {
			for _, id := range field.Names {
				names = append(names, id.Name)
			}
		}
		s.typeParams, s.typeArgs = text(list), "["+strings.Join(names, ", ")+"]"
	}
	decls, names := fields(d.Type.Params)
	s.args, s.after = strings.Join(names, ", "), "("+strings.Join(decls, ", ")+") "
	if d.Type.Results != nil {
		s.after += text(d.Type.Results) + " "
	}
	return s
}
