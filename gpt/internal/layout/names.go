// Package layout knows what the families of published models call their tensors, and how these lie in their files
// beside ours.
package layout

import "strings"

// Names is how a family calls the tensors of a model. A parameter that no rule speaks of has our name.
type Names struct {
	prefix  string // that files put before every name but the head's, or leave out
	written string // the one that we put there
	rules   []rule
	skipped func(name string) bool // what is no parameter but lies beside them
}

// rule says what a parameter of ours is in the files. # is the number of a block.
type rule struct {
	ours, theirs string
	turned       bool
	columns      func(h Heads) []int // which of ours it is; nil is all
}

// A Piece is a tensor of a file that is a parameter of ours, or some columns of it.
type Piece struct {
	Name    string // without a prefix
	Turned  bool   // its rows are our columns
	Columns []int  // ours, in its order; nil is all
}

// HeadWeight is the matrix of the head, in the files of all families and here.
const HeadWeight = "lm_head.weight"

// Pieces returns the tensors that make the parameter of that name, in the order of its columns.
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

// Written returns the name that we write for that of a Piece.
func (n Names) Written(plain string) string {
	if plain == HeadWeight {
		return plain
	}
	return n.written + plain
}

// Module returns the name that Hugging Face's programs have for the matrix of a Piece.
func (n Names) Module(piece string) string {
	if piece == HeadWeight {
		return strings.TrimSuffix(piece, ".weight")
	}
	return n.prefix + strings.TrimSuffix(piece, ".weight")
}

// Skipped reports whether a tensor of a file, by its name without a prefix, is no parameter but lies beside them:
// masks, tables of angles.
func (n Names) Skipped(plain string) bool { return n.skipped(plain) }
