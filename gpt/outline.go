package gpt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// mostDeclared is the largest number of blocks that are declared for counting. In a deeper network each of these stands
// for several.
const mostDeclared = 96

// outline holds what a network declares, counted by constructing it on a graph.Outline. The counts are float64, exact
// below 2^53 and never overflowing on a hostile Config.
type outline struct {
	base, adapters float64        // parameters without adapters, and parameters of the adapters
	active         float64        // parameters that a token passes: a share of the experts' ones
	weights        float64        // operations with parameters, which a token costs in training
	values         float64        // numbers of values that are stored, such as masks without kernels
	mixing         func() float64 // returns the number of products of two numbers in which a token meets others
	updated        []updated      // the parameters that are trained
	remembered     float64        // numbers that a decoder stores for each sequence
	carried        float64        // numbers of a sequence that a window hands on; a run has them twice
	ownHead        bool           // the head has parameters; otherwise the token embedding is its matrix
	linears        []string       // names of the matrices within their block: "attn.c_attn"
	names          []string       // names of the parameters that may be trained: all, or the adapters'
	frozen         float64        // of these, the parameters in Frozen

	layers map[string]float64 // place of a declared layer → number of its parameters
}

// updated is a trained parameter that stands for a number of equal ones.
type updated struct {
	graph.Expr
	times float64
}

// outline counts p. It returns an error if the sizes describe no network, or if a layer reports one; it then counts
// what it can.
func (p plan) outline() (o outline, err error) {
	o.mixing = func() float64 { return 0 }
	if min(p.NLayer, p.NHead, p.NEmbd, p.BlockSize) < 1 {
		return o, errors.Errorf("n_layer %d, n_head %d, n_embd %d, block_size %d: at least 1 of each is needed",
			p.NLayer, p.NHead, p.NEmbd, p.BlockSize)
	}
	short := p
	if p.NLayer > mostDeclared {
		short = p.deep(mostDeclared - mostDeclared%p.Period())
	}
	g := graph.Outline(graph.Float32)
	g.Kernels = p.Kernels
	positions := g.Root().Ints("positions", p.BlockSize, p.BlockSize, graph.NoneIgnored)
	if err := g.Err(); err != nil { // the context is too long to count anything
		return o, err
	}
	at := short.site(g.Root(), 1, positions)
	var matrices []string
	at.Affine, at.Adapt = recordMatrices(at.Affine, &matrices), recordOwn(at.Adapt, &matrices)
	at.Caches = nn.Caches{}
	if p.Carry {
		at.Carry = &nn.Carry{}
	}
	net := newStack(at, short)
	stands := func(block int) float64 { // number of blocks for which a declared one stands
		if block >= short.NLayer { // for a future token
			return 1
		}
		return float64((p.NLayer - block + short.NLayer - 1) / short.NLayer)
	}
	times := func(name string) float64 { // of the named part
		if !inBlock(name) {
			return 1
		}
		return stands(blockOf(name))
	}
	o.countLeaves(p.Config, g, net, times)
	o.nameMatrices(matrices)
	for path, cache := range at.Caches {
		o.remembered += times(path) * cache.Numbers()
	}
	for _, state := range at.Carry.States() {
		o.carried += times(state.Before.Name()) * state.Before.Entries()
	}
	o.mixing = func() float64 { return net.mixing(p, stands) }
	return o, g.Err()
}

// mixing counts the products of two numbers in which a token meets others.
func (n *stack) mixing(p plan, stands func(block int) float64) (sum float64) {
	if len(n.attentions) == 0 { // the blocks do not use the given attention
		for i, l := range slices.Concat(n.Blocks, n.Future) {
			if m, ok := l.(nn.Mixing); ok {
				sum += stands(i) * m.Mixing()
			}
		}
	}
	for _, l := range n.attentions {
		if m, ok := l.Layer.(nn.Mixing); ok {
			sum += stands(l.block) * m.Mixing()
		} else {
			sum += stands(l.block) * float64(p.BlockSize) * float64(p.NHead) * float64(p.QKSize+p.VSize)
		}
	}
	return sum
}

// blockOf returns the index of the block that has the named part.
func blockOf(name string) (block int) {
	rest, _ := strings.CutPrefix(name, "h.")
	digits, _, _ := strings.Cut(rest, ".")
	block, _ = strconv.Atoi(digits)
	return block
}

// countLeaves counts the leaves of net, which are all leaves of g. A leaf stands for as many as stands returns.
func (o *outline) countLeaves(c Config, g *graph.Graph, net *stack, stands func(name string) float64) {
	o.ownHead = slices.ContainsFunc(net.own, func(x graph.Expr) bool { return !isAdapter(x) })
	// A parameter multiplies a token once, or is looked up, or is multiplied by every head.
	uses := map[string]float64{}
	if !o.ownHead {
		uses[net.Embeddings.Table.Weight.Name()] = float64(c.FutureTokens)
	}
	for _, x := range net.own {
		uses[x.Name()] = float64(c.FutureTokens)
	}
	params := g.Params()
	leaves := g.Leaves()
	o.layers = map[string]float64{}
	for _, x := range leaves[min(1, len(leaves)):] { // the first are the positions, an input
		n, name := x.Stored(), x.Name()
		if !g.Kernels { // layers store all numbers of a mask in Forward
			n = x.Entries()
		}
		n *= stands(name)
		if len(params) == 0 || params[0].Name() != name {
			o.values += n
			continue
		}
		params = params[1:]
		o.layers[layerOf(name)] += x.Entries()
		trained := isAdapter(x) == (c.LoraR > 0)
		if trained && nn.IsBalancing(x) {
			o.frozen, trained = o.frozen+n, false
		}
		if trained {
			o.names = append(o.names, name)
			if c.Frozen.Has(name) {
				o.frozen, trained = o.frozen+n, false
			}
		}
		if trained {
			o.updated = append(o.updated, updated{x, n / max(1, x.Entries())})
		}
		o.active += n * c.Share(name)
		if isAdapter(x) {
			o.adapters += n
		} else {
			o.base += n
		}
		times, ok := uses[name]
		switch {
		case x.IsTable() && !ok:
			times = 0
		case nn.IsBalancing(x):
			times = 0
		case strings.HasPrefix(name, "ln_f."):
			times = float64(c.FutureTokens)
		case !ok:
			times = c.Share(name)
		}
		if o.weights += 4 * n * times; trained {
			o.weights += 2 * n * times
		}
	}
}

// recordMatrices returns affine, extended to append the path of each matrix that it builds to list.
func recordMatrices(affine nn.Affine, list *[]string) nn.Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) nn.Layer {
		*list = append(*list, s.Path())
		return affine(s, in, out, bias, init)
	}
}

// recordOwn is recordMatrices for the matrices that user-defined layers declare themselves in a block.
func recordOwn(adapt nn.Adapt, list *[]string) nn.Adapt {
	return func(s graph.Scope, w graph.Expr, in, out int) graph.Expr {
		if inBlock(s.Path()) {
			*list = append(*list, s.Path())
		}
		if adapt == nil {
			return w
		}
		return adapt(s, w, in, out)
	}
}

// nameMatrices records the names of the matrices at these paths, each once.
func (o *outline) nameMatrices(places []string) {
	for _, name := range places {
		if rest, ok := strings.CutPrefix(name, "h."); ok {
			_, name, _ = strings.Cut(rest, ".")
		}
		if !slices.Contains(o.linears, name) {
			o.linears = append(o.linears, name)
		}
	}
}

// targets returns the last parts of the names of all matrices.
func (o outline) targets() (list []string) {
	for _, name := range o.linears {
		name = name[strings.LastIndexByte(name, '.')+1:]
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// targeted returns p with the default of LoraTargets.
func (p plan) targeted() plan {
	if p.LoraR > 0 && len(p.LoraTargets) == 0 {
		plain := p.deep(max(1, p.NLayer)) // with valid sizes: Validate reports the others
		plain.Adapters = Adapters{}
		plain.BlockSize, plain.VocabSize = max(1, p.BlockSize), max(1, p.VocabSize)
		o, _ := plain.outline()
		p.LoraTargets = o.targets()
	}
	return p
}
