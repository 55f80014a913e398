package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a package with one change.
type mutant struct {
	Package  string // path in the module
	Function string // such as LayerNorm.Backward
	Operator string
	Phrase   string // the changed expression or statement, see cursor.phrase
	Ordinal  int    // counts from 1 the mutants of a function with the same operator and phrase
	File     string // path in the module
	Line     int
	Source   string // the line
	Before   string
	After    string
	Status   string
	Reached  bool // a test enters the block

	source *source
	file   *file
	decl   *ast.FuncDecl
	change
	block  int    // offset of the innermost list of statements around the change
	use    string // statement that uses the variables dropped by the change, as Go requires
	useAt  int    // offset of the changed statement
	id     int    // selects the mutant in a run
	hit    int    // number of the block
	reason string // why it is not a mistake
	maybe  bool   // the reason holds if the mutant survives
}

// Statuses of a mutant.
const (
	killed       = "killed"
	survived     = "survived"
	harmless     = "equivalent"
	notCompiling = "not compiling"
)

// change replaces the source between two positions by text.
type change struct {
	operator string
	from, to token.Pos
	text     string
}

// key returns the name of the mutant in the list of equivalent ones.
func (m *mutant) key() string {
	key := m.Package + " " + m.Function + " " + m.Operator + " `" + m.Phrase + "`"
	if m.Ordinal > 1 {
		key += fmt.Sprintf(" #%d", m.Ordinal)
	}
	return key
}

// mutants returns the mutants of all functions, in the order of the source. It skips functions that call recover: in a
// copy, the deferred function itself would no longer call recover. Values of package variables are not changed.
func (m *module) mutants() (out []*mutant) {
	for _, s := range m.packages {
		for _, f := range s.files {
			for _, d := range f.syntax.Decls {
				d, ok := d.(*ast.FuncDecl)
				c := cursor{module: m, source: s, file: f, decl: d, stack: []ast.Node{d}}
				if ok && d.Body != nil && !slices.Contains([]string{"init", "main", "_"}, d.Name.Name) &&
					!strings.Contains(c.text(d), "recover()") {
					c.walk(d.Body, &out)
				}
			}
		}
	}
	count := map[string]int{}
	for _, mu := range out {
		key := mu.key()
		count[key]++
		mu.Ordinal = count[key]
	}
	return out
}

// mutant returns the mutant with a change at the cursor.
func (c cursor) mutant(ch change) *mutant {
	at := c.fset.Position(ch.from)
	rel, _ := filepath.Rel(c.root, at.Filename)
	function := c.decl.Name.Name
	if c.decl.Recv != nil {
		of, _, _ := strings.Cut(strings.TrimLeft(types.ExprString(c.decl.Recv.List[0].Type), "*"), "[")
		function = of + "." + function
	}
	before := c.between(ch.from, ch.to)
	begin := strings.LastIndexByte(c.file.text[:at.Offset], '\n') + 1
	text, _, _ := strings.Cut(c.file.text[begin:], "\n")
	m := &mutant{
		Package: c.source.name, Function: function, Operator: ch.operator, Phrase: c.phrase(),
		File: filepath.ToSlash(rel), Line: at.Line, Source: line(text, 90), Before: line(before, 90),
		After: line(ch.text, 90), source: c.source, file: c.file, decl: c.decl, change: ch,
	}
	list, statement := c.list()
	m.block, m.useAt = c.offset(list), c.offset(statement)
	var lost []string
	ast.Inspect(c.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || id.Pos() < ch.from || id.End() > ch.to || id.Name == "_" || slices.Contains(lost, id.Name) {
			return true
		}
		v, ok := c.source.info.Uses[id].(*types.Var)
		if ok && !v.IsField() && v.Pos() > c.decl.Body.Pos() && v.Pos() < statement {
			lost = append(lost, id.Name)
		}
		return true
	})
	if len(lost) > 0 {
		m.use = strings.Repeat("_, ", len(lost)-1) + "_ = " + strings.Join(lost, ", ") + "; "
	}
	return m
}

// line returns s in one line of at most n characters, without back quotes.
func line(s string, n int) string {
	s = strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "`", "'")
	if runes := []rune(s); len(runes) > n {
		s = string(runes[:n-1]) + "…"
	}
	return s
}
