package page

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/equation"
)

// Equations is a page about the equations of the papers, and about the formulas by hand that their tests check.
type Equations struct {
	Title string
	Index equation.Index `json:"-"`
	Root  string         `json:"-"` // of the module, relative to the page

	Calls    map[string][]string // the formulas that each formula in the page calls
	Sources  map[string]string   // of the formulas in the page
	Chapters map[string]Chapter  // of the book, by the formulas that they derive
}

// Chapter is a chapter of the book with its address, relative to the page.
type Chapter struct{ Title, Link string }

// NewEquations returns the page of an index with links below root. It has the formulas that equations name and those
// that these call, and names the chapters that derive them.
func NewEquations(x equation.Index, root string, chapters map[string]Chapter) Equations {
	p := Equations{
		Title: "The equations of five papers", Index: x, Root: root, Calls: map[string][]string{},
		Sources: map[string]string{}, Chapters: chapters,
	}
	calls, sources := map[string][]string{}, map[string]string{}
	for _, f := range x.Formulas {
		calls[f.Name], sources[f.Name] = f.Calls, f.Source
	}
	var add func(name string)
	add = func(name string) {
		if _, has := p.Calls[name]; !has {
			p.Calls[name] = calls[name]
			if source := sources[name]; source != "" { // the method of an interface has none
				p.Sources[name] = source
			}
			for _, to := range calls[name] {
				add(to)
			}
		}
	}
	for _, paper := range x.Papers {
		for _, e := range paper.Equations {
			for _, name := range e.Formulas {
				add(name)
			}
		}
	}
	return p
}

// Write writes the page.
func (p Equations) Write(w io.Writer) error {
	return write(w, p.Title, "equations.html", p, "page.js", "equations.js")
}

// Levels returns the formulas of the page by level: level 0 calls no formula, every other formula calls one of the
// level below it.
func (p Equations) Levels() (levels [][]string) {
	level := map[string]int{}
	var find func(name string, above []string) int
	find = func(name string, above []string) int {
		if n, has := level[name]; has {
			return n
		}
		n := 0
		for _, to := range p.Calls[name] {
			if !slices.Contains(above, to) {
				n = max(n, 1+find(to, append(above, to)))
			}
		}
		level[name] = n
		for len(levels) <= n {
			levels = append(levels, nil)
		}
		levels[n] = append(levels[n], name)
		return n
	}
	for _, name := range slices.Sorted(maps.Keys(p.Calls)) {
		find(name, []string{name})
	}
	for _, list := range levels {
		slices.Sort(list)
	}
	return levels
}

// Rows returns the number of equations that name a formula.
func (p Equations) Rows(formula string) (n int) {
	for _, paper := range p.Index.Papers {
		for _, e := range paper.Equations {
			if slices.Contains(e.Formulas, formula) {
				n++
			}
		}
	}
	return n
}

// Place returns the line of a formula; a method of an interface has none.
func (p Equations) Place(formula string) (at equation.Place) {
	for _, f := range p.Index.Formulas {
		if f.Name == formula {
			return f.Place
		}
	}
	return at
}

// Short returns the title of a paper up to its author.
func (p Equations) Short(paper equation.Paper) string {
	author, _, _ := strings.Cut(paper.Title, ",")
	return author
}

// mark is a kind of evidence, with the number of equations that have it.
type mark struct {
	Number, Equations int
	Evidence          string
}

// Marks returns the legend.
func (p Equations) Marks() (list []mark) {
	for i, evidence := range p.Index.Marks {
		m := mark{Number: i + 1, Evidence: evidence}
		for _, paper := range p.Index.Papers {
			for _, e := range paper.Equations {
				if e.Mark() == m.Number {
					m.Equations++
				}
			}
		}
		list = append(list, m)
	}
	return list
}

// Names returns the names of an equation's formulas, separated by spaces.
func (p Equations) Names(e equation.Equation) string { return strings.Join(e.Formulas, " ") }

// Link returns the address of a line, relative to the page.
func (p Equations) Link(at equation.Place) string {
	return fmt.Sprintf("%s/%s#L%d", p.Root, at.File, at.Line)
}
