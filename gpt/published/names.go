package published

import (
	"slices"
	"strings"
)

// names maps the names of a model's tensors to those of a family. A parameter without a rule has our name.
type names struct {
	prefix  string // optional prefix of every name in a file except the head's
	written string // the prefix that we write
	rules   []rule
	buffers []buffer
}

// buffer is the beginning and the end of the names of tensors that are not parameters.
type buffer struct{ begin, end string }

// rule maps one of our parameters to a tensor in the files. # stands for the number of a block.
type rule struct {
	ours, theirs string
	turned       bool
	columns      func(h Heads) []int // returns our columns that it holds; nil means all
}

// piece is a tensor of a file that holds one of our parameters, or some of its columns.
type piece struct {
	name    string // without a prefix
	turned  bool   // its rows are our columns
	columns []int  // our columns, in its order; nil means all
}

// HeadWeight is the name of the head's matrix, in the files of all families and here.
const HeadWeight = "lm_head.weight"

// pieces returns the tensors that hold the parameter of that name, in the order of its columns.
func (n names) pieces(name string, h Heads) (list []piece) {
	general, block := name, ""
	if rest, ok := strings.CutPrefix(name, "h."); ok {
		block, rest, _ = strings.Cut(rest, ".")
		general = "h.#." + rest
	}
	for _, r := range n.rules {
		if r.ours != general {
			continue
		}
		p := piece{name: strings.ReplaceAll(r.theirs, "#", block), turned: r.turned}
		if r.columns != nil {
			p.columns = r.columns(h)
		}
		list = append(list, p)
	}
	if list == nil {
		list = []piece{{name: name}}
	}
	return list
}

// plain returns the name of a file's tensor without a prefix.
func (n names) plain(name string) string { return strings.TrimPrefix(name, n.prefix) }

// file returns the name under which we write a piece.
func (n names) file(plain string) string {
	if plain == HeadWeight {
		return plain
	}
	return n.written + plain
}

// module returns the name of a piece's matrix in Hugging Face's programs.
func (n names) module(piece string) string {
	if piece == HeadWeight {
		return strings.TrimSuffix(piece, ".weight")
	}
	return n.prefix + strings.TrimSuffix(piece, ".weight")
}

// skipped reports whether a tensor of a file, named without a prefix, is a buffer such as a mask or a table of angles
// rather than a parameter.
func (n names) skipped(plain string) bool {
	return slices.ContainsFunc(n.buffers, func(b buffer) bool {
		return strings.HasPrefix(plain, b.begin) && strings.HasSuffix(plain, b.end)
	})
}
