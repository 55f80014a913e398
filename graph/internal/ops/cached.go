package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/attention"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Tokens holds the numbers of a decoder's cache with room for every token of a context.
type Tokens interface {
	Fork(from, to, tokens int)
	// Holds reports whether a sequence can continue at a position: the cache still has the earlier tokens to which
	// the token there attends.
	Holds(sequence, position int) bool
	Bytes() int
}

// State holds the numbers of a decoder's cache whose size does not depend on the number of tokens, one sequence after
// the other. The first run allocates them.
type State struct {
	Batch int // number of sequences
	Size  int // number of floats of all sequences
	F32   []float32
	F64   []float64
}

// with calls run on the numbers of the sequences of a step. If these are not all sequences in their order, run gets a
// copy in scratch, which is stored afterwards.
func with[T kernel.Float](s *State, rows []int, scratch *[]T, run func(x []T)) {
	all := numbersOfState[T](s)
	if rows == nil {
		run(all)
		return
	}
	n := len(all) / s.Batch
	if *scratch == nil {
		*scratch = kernel.Make[T](len(rows) * n)
	}
	for i, row := range rows {
		copy((*scratch)[i*n:][:n], all[row*n:])
	}
	run(*scratch)
	for i, row := range rows {
		copy(all[row*n:][:n], (*scratch)[i*n:])
	}
}

// numbersOfState returns the numbers of s.
func numbersOfState[T kernel.Float](s *State) []T {
	x, ok := any(&s.F32).(*[]T)
	if !ok {
		x = any(&s.F64).(*[]T)
	}
	if *x == nil {
		*x = kernel.Make[T](s.Size)
	}
	return *x
}

// Step is a run of an operation that continues a cache.
type Step struct {
	At      IDs          // the position of the first new token, of all sequences or of each
	Rows    []int        // the sequences of the cache that take the step; nil: all, in their order
	Masks   int          // number of matrices of the mask: one, or one per head
	Rule    *Rule        // of the mask; nil if it is stored
	Advance func() error // records the new tokens before the operation runs
}

// places returns the places of the new tokens.
func (s Step) places() attention.Places { return attention.Places{Rows: s.Rows, At: s.At.List} }

// cached returns an operation of a step, without a derivative.
func (b *Builder) cached(s Step, o *Op, children ...*G.Node) (*G.Node, error) {
	o.before, o.wrt = s.Advance, make([]bool, len(children)+1)
	return b.node(o, append(children, s.At.Node)...)
}

// held returns a cache's numbers in type T. The first call allocates them with make.
func held[C Tokens](numbers *Tokens, make func() C) C {
	kept, ok := (*numbers).(C)
	if !ok {
		kept = make()
		*numbers = kept
	}
	return kept
}

func rowsOfHeads(qkv *G.Node, heads, v int) tensor.Shape {
	return tensor.Shape{qkv.Shape()[0], heads * v}
}

// CachedAttention returns the attention of new tokens to themselves and to the tokens in numbers, of packed
// projections. extra holds the gates of the new tokens.
func (b *Builder) CachedAttention(
	h attention.Shape, r attention.Room, numbers *Tokens, s Step, extra Extra, qkv, mask *G.Node,
) (*G.Node, error) {
	gated := extra.Gates != nil
	return b.cached(s, &Op{
		name: fmt.Sprintf("cached %v(%v)", h.Weights, h), shape: rowsOfHeads(qkv, h.Heads, h.V),
		f32: cachedAttention[float32](b.Pool, h, r, numbers, s, gated),
		f64: cachedAttention[float64](b.Pool, h, r, numbers, s, gated),
	}, append(G.Nodes{qkv, mask}, extra.nodes()...)...)
}

func cachedAttention[T kernel.Float](
	p *kernel.Pool, h attention.Shape, r attention.Room, numbers *Tokens, s Step, gated bool,
) body[T] {
	return func(y []T, in [][]T) {
		c := held(numbers, func() *attention.KVCache[T] { return attention.NewKVCache[T](h, r) })
		c.Sinks, c.Gates = nil, nil
		switch {
		case gated:
			c.Gates = in[2]
		case len(in) > 3: // the last one is the position
			c.Sinks = in[2]
		}
		c.Attend(p, y, in[0], maskOf(in[1], s.Rule, 1, s.Masks), s.places())
	}
}

// CachedPairAttention returns the attention of new tokens with two keys and two values per token.
func (b *Builder) CachedPairAttention(
	h attention.Shape, numbers *Tokens, s Step, qkv, mask *G.Node,
) (*G.Node, error) {
	return b.cached(s, &Op{
		name: fmt.Sprintf("cachedpairattention(%v)", h), shape: rowsOfHeads(qkv, h.Heads, h.V),
		f32: cachedPairAttention[float32](b.Pool, h, numbers, s),
		f64: cachedPairAttention[float64](b.Pool, h, numbers, s),
	}, qkv, mask)
}

func cachedPairAttention[T kernel.Float](p *kernel.Pool, h attention.Shape, numbers *Tokens, s Step) body[T] {
	return func(y []T, in [][]T) {
		c := held(numbers, func() *attention.PairCache[T] { return attention.NewPairCache[T](h) })
		c.Attend(p, y, in[0], maskOf(in[1], s.Rule, 1, s.Masks), s.places())
	}
}

// CachedLatentAttention returns the attention of new tokens to latents. The operands are the queries, the latents, the
// up-projections to the keys and to the values, and the mask.
func (b *Builder) CachedLatentAttention(
	h attention.LatentShape, numbers *Tokens, s Step, operands ...*G.Node,
) (*G.Node, error) {
	return b.cached(s, &Op{
		name: fmt.Sprintf("cachedlatentattention(%v)", h), shape: rowsOfHeads(operands[0], h.Heads, h.V),
		f32: cachedLatentAttention[float32](b.Pool, h, numbers, s),
		f64: cachedLatentAttention[float64](b.Pool, h, numbers, s),
	}, operands...)
}

func cachedLatentAttention[T kernel.Float](
	p *kernel.Pool, h attention.LatentShape, numbers *Tokens, s Step,
) body[T] {
	return func(y []T, in [][]T) {
		c := held(numbers, func() *attention.LatentCache[T] { return attention.NewLatentCache[T](h) })
		mask := maskOf(in[4], s.Rule, 1, s.Masks)
		c.Attend(p, y, in[0], in[1], in[2], in[3], mask, s.places())
	}
}

// CachedLinearAttention returns the linear attention of new tokens, which continues from sums.
func (b *Builder) CachedLinearAttention(l Linear, sums *State, s Step, qkv *G.Node) (*G.Node, error) {
	total, scratch := l.buffers(b.Pool)
	return b.cached(s, &Op{
		name:  fmt.Sprintf("cachedlinearattention(%v,%s)", l.Shape, l.Map.name),
		shape: rowsOfHeads(qkv, l.Shape.Heads, l.Shape.V), fills: []*buffer{total, scratch},
		f32: cachedLinear(b.Pool, linearKernel(l, l.Map.f32), sums, s.Rows, total, scratch),
		f64: cachedLinear(b.Pool, linearKernel(l, l.Map.f64), sums, s.Rows, total, scratch),
	}, qkv)
}

func cachedLinear[T kernel.Float](
	p *kernel.Pool, l attention.Linear[T], sums *State, rows []int, total, scratch *buffer,
) body[T] {
	var picked []T
	return func(y []T, in [][]T) {
		with(sums, rows, &picked, func(before []T) {
			l.Forward(p, y, of[T](total), in[0], nil, before, of[T](scratch))
		})
	}
}

// CachedElman returns Elman for new tokens of batch sequences, which continues from the features in last.
func (b *Builder) CachedElman(batch int, last *State, s Step, a, w *G.Node) (*G.Node, error) {
	return b.cached(s, &Op{
		name: "cachedelman", shape: a.Shape(),
		f32: cachedElman[float32](b.Pool, batch, last, s.Rows), f64: cachedElman[float64](b.Pool, batch, last, s.Rows),
	}, a, w)
}

func cachedElman[T kernel.Float](p *kernel.Pool, batch int, state *State, rows []int) body[T] {
	var scratch []T
	d := state.Size / state.Batch
	return func(h []T, in [][]T) {
		n := len(h) / (batch * d)
		with(state, rows, &scratch, func(last []T) {
			recurrent.Elman(p, h, in[0], in[1], last, batch, d)
			for b := range batch {
				copy(last[b*d:(b+1)*d], h[(b*n+n-1)*d:])
			}
		})
	}
}

// CachedDelay returns the tokens of batch sequences, each as many tokens later as past holds.
func (b *Builder) CachedDelay(batch int, past *State, s Step, x *G.Node) (*G.Node, error) {
	return b.cached(s, &Op{
		name: "cacheddelay", shape: x.Shape(),
		f32: cachedDelay[float32](batch, past, s.Rows), f64: cachedDelay[float64](batch, past, s.Rows),
	}, x)
}

func cachedDelay[T kernel.Float](batch int, state *State, rows []int) body[T] {
	var scratch []T
	return func(y []T, in [][]T) {
		with(state, rows, &scratch, func(past []T) { delayed(y, in[0], past, batch) })
	}
}

// delayed writes to y, for each sequence, the first of past and x together, and to past the last of them.
func delayed[T kernel.Float](y, x, past []T, batch int) {
	size, n := len(past)/batch, len(x)/batch
	for b := range batch {
		y := y[b*n:][:n]
		copy(y[copy(y, past[b*size:][:size]):], x[b*n:][:n])
	}
	kernel.Remember(past, x, batch)
}

// CachedDelayInts is CachedDelay of integers, which it also writes to list. Before the first token stands fill. The
// state holds differences from fill, as float64 for graphs of any type, so that a new state begins with it.
func (b *Builder) CachedDelayInts(
	batch int, past *State, s Step, ids IDs, list []int, fill int,
) (*G.Node, error) {
	var scratch []float64
	x, y := make([]float64, len(list)), make([]float64, len(list))
	compute := func() {
		for i, id := range ids.List {
			x[i] = float64(id - fill)
		}
		with(past, s.Rows, &scratch, func(past []float64) { delayed(y, x, past, batch) })
		for i := range list {
			list[i] = int(y[i]) + fill
		}
	}
	return b.cached(s, &Op{
		name: "cacheddelayints", shape: ids.Node.Shape(),
		f32: integers[float32](list, compute), f64: integers[float64](list, compute),
	}, ids.Node)
}
