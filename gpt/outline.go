package gpt

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// mostDeclared bounds the blocks that are declared to be counted: a deeper network is counted as so many times these.
const mostDeclared = 128

// outline is what a network declares, counted by constructing it on a graph.Outline. The counts are float64, exact below
// 2^53 and never overflowing on a hostile Config.
type outline struct {
	base, adapters float64  // parameters without adapters, and the adapters'
	looked         float64  // those of the base that are looked up and added, not multiplied
	values         float64  // numbers of masks, and of tables of positions
	mixing         float64  // products of two numbers in which a token meets others
	token          float64  // activations of one token that its matrices take and give
	rows           float64  // rows of attention weights of one token
	linears        []string // names of the matrices, in their block: "attn.c_attn"
}

// matrix is one that a layer has declared through its site.
type matrix struct {
	path string
	in   int
	outs []int
}

// outline counts c, which has its defaults. It is an error if its sizes or names make no network, or a layer says so; what
// is counted then is what could be.
func (c Config) outline() (o outline, err error) {
	if min(c.NLayer, c.NHead, c.NEmbd, c.BlockSize) < 1 {
		return o, errors.Errorf("n_layer %d, n_head %d, n_embd %d, block_size %d: at least 1 of each is needed", c.NLayer, c.NHead, c.NEmbd, c.BlockSize)
	}
	if err := c.PartFields(c.known()).Check(); err != nil {
		return o, err
	}
	short := c
	short.NLayer = min(c.NLayer, mostDeclared)
	g := graph.Outline(graph.Float32)
	at := site(g.Root(), short, 1, g.Root().Ints("positions", c.BlockSize, c.BlockSize, 0))
	var matrices []matrix
	make := at.Affine
	at.Affine = func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		matrices = append(matrices, matrix{s.Path(), in, out})
		return make(s, in, out, bias, init)
	}
	net := newStack(at, short)
	blocks := float64(c.NLayer) / float64(short.NLayer) // each declared block stands for so many
	o.countLeaves(g, blocks)
	o.countMatrices(matrices, c, blocks)
	for _, l := range net.attentions {
		o.rows += blocks * float64(c.NHead)
		if m, ok := l.(nn.Mixing); ok {
			o.mixing += blocks * m.Mixing()
		} else {
			o.mixing += blocks * float64(c.BlockSize) * float64(c.NHead) * float64(c.QKSize+c.VSize)
		}
	}
	return o, g.Err()
}

// countLeaves sums what is declared outside the blocks, in the blocks, and in the head.
func (o *outline) countLeaves(g *graph.Graph, blocks float64) {
	var table, head float64
	params := g.Params()
	for _, x := range g.Leaves()[1:] { // behind the positions, which are no numbers of the network
		n, name := 1.0, x.Name()
		for _, size := range x.Shape() {
			n *= float64(size)
		}
		inBlock := strings.HasPrefix(name, "h.")
		if inBlock {
			n *= blocks
		}
		if len(params) == 0 || params[0].Name() != name {
			o.values += n
			continue
		}
		params = params[1:]
		if isAdapter(x) {
			o.adapters += n
			continue
		}
		o.base += n
		switch {
		case strings.HasPrefix(name, "wte."):
			table += n
		case strings.HasPrefix(name, "lm_head."):
			head += n
		case !inBlock && !strings.HasPrefix(name, "ln_f."):
			o.looked += n // positions
		}
	}
	if head > 0 { // else the table is the head's matrix
		o.looked += table
	}
}

// countMatrices notes the names of matrices and what they keep of a token: what they give, what comes out of attention or
// activation into a projection, and what an adapter has between its two.
func (o *outline) countMatrices(list []matrix, c Config, blocks float64) {
	o.token = 3*float64(c.NEmbd) + float64(c.VocabSize) + 7*float64(c.NEmbd)*float64(c.NLayer)
	for _, m := range list {
		name, kept := m.path, 0.0
		if c.adapts(m.path) {
			kept = float64(c.LoraR) * float64(len(m.outs))
		}
		if rest, ok := strings.CutPrefix(m.path, "h."); ok {
			_, name, _ = strings.Cut(rest, ".")
			for _, out := range m.outs {
				kept += float64(out)
			}
			if strings.HasSuffix(name, ".c_proj") {
				kept += float64(m.in) - float64(c.NEmbd) // the output is among the 7d
			}
			kept *= blocks
		}
		o.token += kept
		if !slices.Contains(o.linears, name) {
			o.linears = append(o.linears, name)
		}
	}
}

// targets are the last parts of the names of all matrices.
func (o outline) targets() (list []string) {
	for _, name := range o.linears {
		name = name[strings.LastIndexByte(name, '.')+1:]
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func isAdapter(p graph.Expr) bool { return strings.Contains(p.Name(), ".lora_") }
