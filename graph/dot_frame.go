package graph

import "strings"

// frame is a layer in a picture.
type frame struct {
	path   string
	boxes  []string
	inside []*frame
}

// frame returns the frame of a scope. If there is none, it adds one to the frame of the surrounding scope.
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
