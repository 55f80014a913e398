package gpt

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// mostDeclared bounds the blocks that are declared to be counted: a deeper network is counted as a multiple of these.
const mostDeclared = 128

// outline is what a network declares, counted by constructing it on a graph.Outline. The counts are float64, exact
// below 2^53 and never overflowing on a hostile Config.
type outline struct {
	base, adapters float64  // parameters without adapters, and the adapters'
	lookups        float64  // those of the base that are looked up and added, not multiplied
	values         float64  // numbers of masks, and of tables of positions
	mixing         float64  // products of two numbers in which a token meets others
	remembered     float64  // numbers that a decoder keeps of a sequence
	ownHead        bool     // the head has parameters; else the token embedding is its matrix
	linears        []string // names of the matrices, in their block: "attn.c_attn"
	names          []string // of what may be trained: all parameters, or the adapters
	frozen, still  float64  // of these, what Frozen keeps from being trained, and what of it multiplies
}

// outline counts c, which has its defaults. It is an error if its sizes or names make no network, or a layer says so;
// what is counted then is what could be.
func (c Config) outline() (o outline, err error) {
	if min(c.NLayer, c.NHead, c.NEmbd, c.BlockSize) < 1 {
		return o, errors.Errorf("n_layer %d, n_head %d, n_embd %d, block_size %d: at least 1 of each is needed",
			c.NLayer, c.NHead, c.NEmbd, c.BlockSize)
	}
	if err := append(c.PartFields(c.known()), c.headField()).Check(); err != nil {
		return o, err
	}
	short := c
	short.NLayer = min(c.NLayer, mostDeclared)
	g := graph.Outline(graph.Float32)
	g.Kernels = c.Kernels
	positions := g.Root().Ints("positions", c.BlockSize, c.BlockSize, graph.NoneIgnored)
	if err := g.Err(); err != nil { // too many to count anything
		return o, err
	}
	at := site(g.Root(), short, 1, positions)
	var matrices []string
	at.Affine, at.Adapt = recordMatrices(at.Affine, &matrices), recordOwn(at.Adapt, &matrices)
	at.Caches = nn.Caches{}
	net := newStack(at, short)
	blocks := float64(c.NLayer) / float64(short.NLayer) // that each declared one stands for
	o.countLeaves(c, g, blocks)
	o.nameMatrices(matrices)
	o.remembered = blocks * at.Caches.Numbers()
	if len(net.attentions) == 0 { // blocks that do without the attention they are given
		for _, l := range net.Blocks {
			if m, ok := l.(nn.Mixing); ok {
				o.mixing += blocks * m.Mixing()
			}
		}
	}
	for _, l := range net.attentions {
		if m, ok := l.(nn.Mixing); ok {
			o.mixing += blocks * m.Mixing()
		} else {
			o.mixing += blocks * float64(c.BlockSize) * float64(c.NHead) * float64(c.QKSize+c.VSize)
		}
	}
	return o, g.Err()
}

// countLeaves sums what is declared outside the blocks, in the blocks, and in the head.
func (o *outline) countLeaves(c Config, g *graph.Graph, blocks float64) {
	var table, head, still float64 // the last is of the table
	params := g.Params()
	leaves := g.Leaves()
	for _, x := range leaves[min(1, len(leaves)):] { // behind the positions, which are no numbers of the network
		n, name := x.Entries(), x.Name()
		inBlock := inBlock(name)
		if inBlock {
			n *= blocks
		}
		if len(params) == 0 || params[0].Name() != name {
			o.values += n
			continue
		}
		params = params[1:]
		frozen := 0.0
		if isAdapter(x) == (c.LoraR > 0) {
			if o.names = append(o.names, name); c.Frozen.Has(name) {
				frozen = n
			}
		}
		o.frozen += frozen
		if isAdapter(x) {
			o.adapters, o.still = o.adapters+n, o.still+frozen
			continue
		}
		o.base += n
		switch {
		case strings.HasPrefix(name, "wte."):
			table, still = table+n, still+frozen
		case strings.HasPrefix(name, "lm_head."):
			head, o.still = head+n, o.still+frozen
		case !inBlock && !strings.HasPrefix(name, "ln_f."):
			o.lookups += n // positions
		default:
			o.still += frozen
		}
	}
	if o.ownHead = head > 0; o.ownHead {
		o.lookups += table
	} else {
		o.still += still
	}
}

func inBlock(name string) bool { return strings.HasPrefix(name, "h.") }

func isAdapter(p graph.Expr) bool { return adapterName(p.Name()) }

func adapterName(name string) bool { return strings.Contains(name, ".lora_") }
