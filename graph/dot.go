package graph

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
	G "gorgonia.org/gorgonia"
)

// Dot writes a picture of the forward pass in Graphviz's language, to be drawn with "dot -Tsvg". It contains the
// operations below the given scope, such as "h.0" for one block or "" for everything. Every layer is a frame,
// parameters are boxes, and operands from outside are plain text. The same model gives the same bytes.
func (g *Graph) Dot(w io.Writer, scope string) error {
	switch err := g.Err(); {
	case err != nil:
		return err
	case w == nil:
		return errors.New("no writer")
	}
	p := &picture{g: g, w: bufio.NewWriter(w), root: &frame{path: scope}, id: map[*G.Node]string{}}
	p.frames = map[string]*frame{scope: p.root}
	p.collect()
	if len(p.edges) == 0 {
		return errors.Errorf("no operation in %q%s", scope, spelling.Hint(scope, g.drawable()))
	}
	p.print(`digraph %q {`, "pedestrian "+scope)
	p.print(`	graph [fontname="Helvetica", fontsize=12, labeljust=l, color="#9aa5b1", nodesep=0.3, ranksep=0.35]`)
	p.print(`	node [fontname="Helvetica", fontsize=11, shape=box, height=0.3, margin="0.12,0.05"]`)
	p.print(`	edge [color="#52606d", arrowsize=0.6]`)
	p.draw(p.root, "	")
	for _, s := range p.stubs {
		p.print(`	%s`, s)
	}
	for _, e := range p.edges {
		p.print(`	%s`, e)
	}
	p.print(`}`)
	return errors.Wrap(p.w.Flush(), "dot")
}

// drawable returns the scopes of all operations, and the scopes around them.
func (g *Graph) drawable() []string {
	seen := map[string]bool{}
	g.forward(func(_ *G.Node, at source) {
		for scope := at.scope; scope != ""; {
			seen[scope] = true
			scope = scope[:max(0, strings.LastIndexByte(scope, '.'))]
		}
	})
	return slices.Sorted(maps.Keys(seen))
}

// picture holds what Dot draws: frames inside frames, then the nodes without a frame.
type picture struct {
	g      *Graph
	w      *bufio.Writer
	root   *frame
	frames map[string]*frame
	id     map[*G.Node]string
	stubs  []string
	edges  []string
}

func (p *picture) print(format string, args ...any) { fmt.Fprintf(p.w, format+"\n", args...) }

func (p *picture) collect() {
	p.g.forward(func(n *G.Node, at source) {
		if at.leaf() || !within(at.scope, p.root.path) {
			return
		}
		to := p.box(n)
		for _, operand := range p.g.operands(n) {
			p.edges = append(p.edges, fmt.Sprintf("%s -> %s", p.box(operand), to))
		}
	})
}

// box adds a node to the picture, unless it is there already, and returns its name.
func (p *picture) box(n *G.Node) string {
	if id, ok := p.id[n]; ok {
		return id
	}
	id := fmt.Sprintf("n%d", len(p.id))
	p.id[n] = id
	at := p.g.source[n.ID()]
	x, leaf := p.g.leafOf(n)
	inside := within(at.scope, p.root.path)
	label, _, _ := strings.Cut(at.op, " to ") // a reshape's name ends with its shape
	shape, style := n.Shape(), `style="rounded,filled", fillcolor=white`
	switch {
	case leaf && inside:
		label, shape = strings.TrimPrefix(strings.TrimPrefix(x.name, at.scope), "."), x.shape
		if style = `style=filled, fillcolor="#dbe7f5", color="#7b97b8"`; !p.g.trained(x) {
			style = `shape=plaintext, fontcolor="#52606d"`
		}
	case leaf:
		label, shape, style = x.name, x.shape, `shape=plaintext, fontcolor="#52606d"`
	case !inside:
		label, style = strings.TrimSpace(at.scope+" "+label), `shape=plaintext, fontcolor="#52606d"`
	}
	box := fmt.Sprintf(`%s [label="%s\n%s", %s]`, id, escape(label), sizes(shape), style)
	if !inside {
		p.stubs = append(p.stubs, box)
		return id
	}
	f := p.frame(at.scope)
	f.boxes = append(f.boxes, box)
	return id
}

func escape(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

// frame is a layer in a picture.
type frame struct {
	path   string
	boxes  []string
	inside []*frame
}

// frame returns the frame of a scope. It adds a missing one to the frame of the surrounding scope.
func (p *picture) frame(path string) *frame {
	if f, ok := p.frames[path]; ok {
		return f
	}
	f := &frame{path: path}
	p.frames[path] = f
	around := p.root
	if up := parent(path); within(up, p.root.path) {
		around = p.frame(up)
	}
	around.inside = append(around.inside, f)
	return f
}

func (p *picture) draw(f *frame, indent string) {
	inner := indent
	if f.path != "" {
		label := f.path
		if f != p.root {
			label = strings.TrimPrefix(strings.TrimPrefix(f.path, parent(f.path)), ".")
		}
		p.print(`%ssubgraph "cluster_%s" {`, indent, escape(f.path))
		inner += "	"
		p.print(`%slabel="%s"`, inner, escape(label))
		p.print(`%sstyle="rounded,filled"; fillcolor="#0000000a"`, inner)
	}
	for _, box := range f.boxes {
		p.print("%s%s", inner, box)
	}
	for _, g := range f.inside {
		p.draw(g, inner)
	}
	if f.path != "" {
		p.print("%s}", indent)
	}
}
