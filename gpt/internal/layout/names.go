// Package layout describes how the tensors of the families of published models correspond to ours: their names, and
// the order of their numbers.
package layout

import "strings"

// Names maps the names of a model's tensors to those of a family. A parameter without a rule has our name.
type Names struct {
	prefix  string // optional prefix of every name in a file except the head's
	written string // the prefix that we write
	rules   []rule
	skipped func(name string) bool // reports whether a tensor is a buffer rather than a parameter
}

// rule maps one of our parameters to a tensor in the files. # stands for the number of a block.
type rule struct {
	ours, theirs string
	turned       bool
	columns      func(h Heads) []int // returns our columns that it holds; nil means all
}

// Piece is a tensor of a file that holds one of our parameters, or some of its columns.
type Piece struct {
	Name    string // without a prefix
	Turned  bool   // its rows are our columns
	Columns []int  // our columns, in its order; nil means all
}

// HeadWeight is the name of the head's matrix, in the files of all families and here.
const HeadWeight = "lm_head.weight"

// Pieces returns the tensors that hold the parameter of that name, in the order of its columns.
func (n Names) Pieces(name string, h Heads) (list []Piece) {
	general, block := name, ""
	if rest, ok := strings.CutPrefix(name, "h."); ok {
		block, rest, _ = strings.Cut(rest, ".")
		general = "h.#." + rest
	}
	for _, r := range n.rules {
		if r.ours != general {
			continue
		}
		p := Piece{Name: strings.ReplaceAll(r.theirs, "#", block), Turned: r.turned}
		if r.columns != nil {
			p.Columns = r.columns(h)
		}
		list = append(list, p)
	}
	if list == nil {
		list = []Piece{{Name: name}}
	}
	return list
}

// Plain returns the name of a file's tensor without a prefix.
func (n Names) Plain(name string) string { return strings.TrimPrefix(name, n.prefix) }

// Written returns the name under which we write a Piece.
func (n Names) Written(plain string) string {
	if plain == HeadWeight {
		return plain
	}
	return n.written + plain
}

// Module returns the name of a Piece's matrix in Hugging Face's programs.
func (n Names) Module(piece string) string {
	if piece == HeadWeight {
		return strings.TrimSuffix(piece, ".weight")
	}
	return n.prefix + strings.TrimSuffix(piece, ".weight")
}

// Skipped reports whether a tensor of a file, named without a prefix, is a buffer such as a mask or a table of angles
// rather than a parameter.
func (n Names) Skipped(plain string) bool { return n.skipped(plain) }
