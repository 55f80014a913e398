package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Summary writes a table of the layers in the order of the forward pass, as in Table 2: the output shape of each and
// the number of its parameters. A layer without parameters that keeps the shape, such as an activation or a residual
// addition, has no row.
func (g *Graph) Summary(w io.Writer) error {
	switch err := g.Err(); {
	case err != nil:
		return err
	case w == nil:
		return errors.New("no writer")
	}
	rows, total := g.rows()
	width := len(thousands(total))
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintf(t, "layer\toutput\tparameters\n")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%*s\n", r.name(), r.shape, width, thousands(r.parameters))
	}
	fmt.Fprintf(t, "total\t\t%*s\n", width, thousands(total))
	return errors.Wrap(t.Flush(), "summary")
}

type row struct {
	scope, shape string
	parameters   int
}

func (r *row) name() string {
	if r.scope == "" {
		return "(top)"
	}
	return r.scope
}

// rows returns one row per scope, in the order in which scopes are first entered, with the shape there when the scope
// is first left: for attention that is the result of the heads, before the projection, which has another row. A scope
// without a parameter in or below it, such as a dropout's, counts as part of the surrounding one.
func (g *Graph) rows() (rows []*row, total int) {
	holds := map[string]bool{}
	for _, p := range g.params {
		for path := p.source(); path != ""; path = parent(path) {
			holds[path] = true
		}
	}
	byScope := map[string]*row{}
	var current *row
	g.forward(func(n *G.Node, at source) {
		if at.leaf() {
			return
		}
		for !holds[at.scope] && parent(at.scope) != "" {
			at.scope = parent(at.scope)
		}
		if current == nil || current.scope != at.scope {
			current = &row{scope: at.scope}
			if byScope[at.scope] == nil {
				byScope[at.scope] = current
				rows = append(rows, current)
			}
		}
		current.shape = sizes(n.Shape())
	})
	for _, p := range g.params {
		owner := byScope[p.source()]
		for path := p.source(); owner == nil && path != ""; path = parent(path) {
			owner = byScope[path]
		}
		if owner == nil { // declared but never used
			owner = &row{scope: p.source(), shape: "unused"}
			byScope[owner.scope] = owner
			rows = append(rows, owner)
		}
		size := tensor.Shape(p.shape).TotalSize()
		owner.parameters += size
		total += size
	}
	before := ""
	return slices.DeleteFunc(rows, func(r *row) bool {
		same := r.shape == before
		before = r.shape
		return same && r.parameters == 0
	}), total
}

// thousands formats 85120849 as 85,120,849.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}

func sizes(shape tensor.Shape) string {
	if shape.IsScalar() {
		return "scalar"
	}
	return fmt.Sprint(shape)
}
