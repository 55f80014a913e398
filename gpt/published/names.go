package published

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// names maps the names of a model's tensors to the names of a family. A parameter without a rule has our name.
type names struct {
	prefix  string // optional prefix of every name in a file except the head's
	written string // the prefix that we write
	rules   []rule
	buffers []buffer
	head    string // name of the head's matrix; HeadWeight if empty
	pairs   bool   // rotary positions rotate the features 2i and 2i+1 of a head, as here
}

// buffer is the beginning and the end of the names of tensors that are not parameters.
type buffer struct{ begin, end string }

// rule maps one of our parameters to a tensor in the files. # stands for the number of a block, and @ for an expert's.
// A tensor whose name has no @, in the rule of an expert, holds all experts, one after another.
type rule struct {
	ours, theirs string
	turned       bool                // its rows are our columns
	columns      func(h heads) []int // returns our columns that it holds; nil means all
	shift        float64             // ours minus theirs
	skip         int                 // number of its rows before ours
	part, parts  int                 // ours is this part of its outputs, which are divided equally; 0 means one
	inTurn       bool                // the outputs of the parts are in turn, not one part after another
}

// tensor returns the rule of a tensor that is as ours.
func tensor(ours, theirs string) rule { return rule{ours: ours, theirs: theirs} }

// matrix returns the rule of a matrix that is (out, in).
func matrix(ours, theirs string) rule { return rule{ours: ours, theirs: theirs, turned: true} }

// of returns r as the rule of a tensor that holds these of our columns.
func (r rule) of(columns func(h heads) []int) rule {
	r.columns = columns
	return r
}

// piece is a tensor of a file that holds one of our parameters, or some of its columns.
type piece struct {
	rule
	name    string // without a prefix
	columns []int  // our columns, in its order; nil means all
	stacked bool   // it holds all experts, of which ours is number expert
	expert  int
}

// HeadWeight is the name of the head's matrix, in the files of all families and here.
const HeadWeight = "lm_head.weight"

// pieces returns the tensors that hold the parameter of that name, in the order of its columns.
func (n names) pieces(name string, h heads) (list []piece) {
	if n.pairs {
		h.Rotary = 0
	}
	general, block, expert := name, "", ""
	if rest, ok := strings.CutPrefix(name, "h."); ok {
		block, rest, _ = strings.Cut(rest, ".")
		general = "h.#." + rest
	}
	if before, rest, ok := strings.Cut(general, ".experts."); ok {
		expert, rest, _ = strings.Cut(rest, ".")
		general = before + ".experts.@." + rest
	}
	for _, r := range n.rules {
		if r.ours != general {
			continue
		}
		p := piece{rule: r, name: strings.NewReplacer("#", block, "@", expert).Replace(r.theirs)}
		if r.columns != nil {
			p.columns = r.columns(h)
		}
		if expert != "" && !strings.Contains(r.theirs, "@") {
			p.stacked = true
			p.expert, _ = strconv.Atoi(expert)
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
	if plain == n.headName() || plain == strings.TrimSuffix(n.headName(), "weight")+"bias" {
		return plain
	}
	return n.written + plain
}

// module returns the name of a piece's matrix in Hugging Face's programs.
func (n names) module(piece string) string {
	if piece == n.headName() {
		return strings.TrimSuffix(piece, ".weight")
	}
	return n.prefix + strings.TrimSuffix(piece, ".weight")
}

// headName returns the name of the head's matrix in the files.
func (n names) headName() string { return cmp.Or(n.head, HeadWeight) }

// skipped reports whether a tensor of a file, named without a prefix, is a buffer such as a mask or a table of angles
// rather than a parameter.
func (n names) skipped(plain string) bool {
	return slices.ContainsFunc(n.buffers, func(b buffer) bool {
		return strings.HasPrefix(plain, b.begin) && strings.HasSuffix(plain, b.end)
	})
}
