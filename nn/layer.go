package nn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pkg/errors"
)

// Layer maps activations (n, in) to activations (n, out).
type Layer interface {
	Forward(x graph.Expr) graph.Expr
}

// Dims holds the sizes that the layers share.
type Dims struct {
	Batch, Context int // B sequences of T tokens
	Embd           int // d, the width of the residual stream
	Heads          int // H
	QK, V          int // dρ and dh: features of a query or key, and of a value, per head
	Inner          int // f, the width inside the MLP
	Blocks         int // L, for the initialisation of the matrices that write to the residual stream
}

// Cached is a Layer that can also take only the newest tokens of every sequence, (B·n, in) → (B·n, out). It stores the
// tokens before them in its site's Caches. at is the position of the first new token. A Layer that does not combine
// tokens, such as an MLP or a norm, needs no memory: its Forward does both. Taking a step of a block whose attention is
// not Cached is an error.
type Cached interface {
	Layer
	Step(x, at graph.Expr) graph.Expr
}

// Mixing returns an attention Layer that reports the cost of combining tokens: for each token, the number of products
// in the forward pass that involve no parameter, as many as are computed. Softmax over n keys costs n·H(dρ+dh).
type Mixing interface {
	Layer
	Mixing() float64
}

const notCached = "%T stores nothing of earlier tokens, so all tokens must pass through Forward at once"

// stepAt returns the Step of the named layer at one position, in the block at s. It is the counterpart of In for Step.
func stepAt(s graph.Scope, name string, l Layer, at graph.Expr) func(x graph.Expr) graph.Expr {
	return func(x graph.Expr) graph.Expr {
		if c, ok := l.(Cached); ok {
			return s.Place(name, shaped(s.Sub("%s", name), x.Shape(), func() graph.Expr { return c.Step(x, at) }))
		}
		s.Failf(notCached, l)
		return x
	}
}

// newest is like stepAt, but a layer that is not Cached combines no tokens, so its Forward does both.
func newest(s graph.Scope, name string, l Layer, at graph.Expr) func(x graph.Expr) graph.Expr {
	if _, ok := l.(Cached); ok {
		return stepAt(s, name, l, at)
	}
	return In(s, name, l)
}

// step returns the Step of l, or its Forward if it combines no tokens.
func step(l Layer, x, at graph.Expr) graph.Expr {
	switch l := l.(type) {
	case Cached:
		return l.Step(x, at)
	case Mixing:
		return x.Wrap(nil, errors.Errorf(notCached, l))
	}
	return l.Forward(x)
}

// Adapt returns a replacement for the matrix w (in, out) of the layer at s, such as one with an adapter.
type Adapt func(s graph.Scope, w graph.Expr, in, out int) graph.Expr

// Affine builds the layer y = x·w + b with in inputs, the outputs given as blocks of columns, and weights from init.
type Affine func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer

// In returns the named layer in s as a function. The result of this function must have the shape of x and becomes the
// activation at that place. A layer that is missing, panics or returns another shape is an error of the layer.
func In(s graph.Scope, name string, l Layer) func(x graph.Expr) graph.Expr {
	at := s.Sub("%s", name)
	return func(x graph.Expr) graph.Expr {
		return s.Place(name, shaped(at, x.Shape(), func() graph.Expr { return l.Forward(x) }))
	}
}

// HeadIn is like In for a layer whose result has the rows of x and the given number of columns.
func HeadIn(s graph.Scope, name string, l Layer, columns int) func(x graph.Expr) graph.Expr {
	at := s.Sub("%s", name)
	return func(x graph.Expr) graph.Expr {
		shape := x.Shape()
		if len(shape) > 0 {
			shape[len(shape)-1] = columns
		}
		return s.Place(name, shaped(at, shape, func() graph.Expr { return l.Forward(x) }))
	}
}

// shaped is like try, but requires a shape.
func shaped(s graph.Scope, want []int, f func() graph.Expr) graph.Expr {
	y := try(s, f)
	if got := y.Shape(); got != nil && want != nil && !slices.Equal(got, want) {
		s.Failf("got shape %s, want %s", sizes(got), sizes(want))
	}
	return y
}

// sizes formats a shape for errors, such as "(16, 32)".
func sizes(shape []int) string {
	return "(" + strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ") + ")"
}

// try returns the result of f. If f panics, the panic becomes an error of s.
func try(s graph.Scope, f func() graph.Expr) (y graph.Expr) {
	if !s.Try(func() { y = f() }) {
		y = graph.Expr{}.In(s)
	}
	return y
}

// recoverUnbuilt turns a panic of the layer l into an error in y. Methods that need fields set by the constructor defer
// it, so that calling them on nil or on a literal is an error.
func recoverUnbuilt(l any, x graph.Expr, y *graph.Expr) {
	if r := recover(); r != nil {
		*y = x.Wrap(nil, errors.Errorf("%T, want one built by its constructor: %v", l, graph.Panicked(r)))
	}
}

// Caches holds what the layers of a decoder store of earlier tokens, by the name of the layer. Graphs for one new token
// and for several share it.
type Caches map[string]fused.Cache

// Reset removes all tokens.
func (c Caches) Reset() {
	for _, cache := range c {
		cache.Reset()
	}
}

// Fork copies sequence from to sequence to in every layer.
func (c Caches) Fork(from, to int) error {
	for name, cache := range c {
		if err := cache.Fork(from, to); err != nil {
			return errors.Wrap(err, name)
		}
	}
	return nil
}

// Keep forgets, in every layer, the tokens of a sequence after the first n. It returns fused.ErrOrder if a layer
// cannot; the sequence can then only begin again. Every cache must be a fused.Divisible.
func (c Caches) Keep(sequence, n int) error {
	return c.divide(func(name string, d fused.Divisible) error {
		return errors.Wrap(d.Keep(sequence, n), name)
	})
}

// Select returns caches with the same memory, for steps of the sequences in rows. Every cache must be a
// fused.Divisible.
func (c Caches) Select(rows []int) (Caches, error) {
	selected := Caches{}
	return selected, c.divide(func(name string, d fused.Divisible) error {
		selected[name] = d.Select(rows)
		return nil
	})
}

func (c Caches) divide(f func(name string, d fused.Divisible) error) error {
	for name, cache := range c {
		d, ok := cache.(fused.Divisible)
		if !ok {
			return errors.Errorf("%s: the cache %T has no Keep and Select, "+
				"so its sequences cannot be continued separately", name, cache)
		}
		if err := f(name, d); err != nil {
			return err
		}
	}
	return nil
}

// Numbers returns the number of values stored for a full context.
func (c Caches) Numbers() (sum float64) {
	for _, cache := range c {
		sum += cache.Numbers()
	}
	return sum
}

// Bytes returns the memory of the stored values.
func (c Caches) Bytes() (sum int) {
	for _, cache := range c {
		sum += cache.Bytes()
	}
	return sum
}

// Carry collects the states that the layers of a model hand on from one window of a text to the next, while it is
// trained by truncated backpropagation through time: the caller copies After of each into Before of the next window, or
// zeros where another text begins. No gradient flows through a state.
type Carry struct{ states []*State }

// State holds n numbers of every sequence, in which a layer sums up the tokens before a window.
type State struct {
	Before graph.Expr // at the first token, a Value of zeros  (B, n)
	After  graph.Expr // after the last token, set by the layer's Forward  (B, n)
}

// States lists the states in the order of the layers.
func (c *Carry) States() []*State {
	if c == nil {
		return nil
	}
	return c.states
}

// state declares a state of n numbers of every sequence at a site. It returns nil if the site carries none.
func (s Site) state(n int) *State {
	if s.Carry == nil {
		return nil
	}
	l := &State{Before: s.Value("state", graph.Const(0), s.Batch, n)}
	s.Carry.states = append(s.Carry.states, l)
	return l
}

// rows returns x, the rows of each of batch sequences, with rows in front of them: (B, k·d), (B·T, d) → (B·(k+T), d).
func rows(before, x graph.Expr, batch int) graph.Expr {
	s := x.Shape()
	if len(s) != 2 || s[0]%batch != 0 { // building has failed
		return x
	}
	all := before.Join(x.Reshape(batch, s[0]/batch*s[1]))
	return all.Reshape(int(all.Entries())/s[1], s[1])
}

// lastRows returns the last n rows of each of batch sequences: (B·T, d) → (B, n·d).
func lastRows(x graph.Expr, batch, n int) graph.Expr {
	s := x.Shape()
	if len(s) != 2 || s[0]%batch != 0 { // building has failed
		return x
	}
	width := s[0] / batch * s[1]
	return x.Reshape(batch, width).Columns(width-n*s[1], width)
}

// cacheAt returns the cache of the layer at path, and makes it on the first call. It returns nil if c is nil.
func cacheAt[C fused.Cache](c Caches, path string, make func() C) (kept C) {
	if c == nil {
		return kept
	}
	kept, ok := c[path].(C)
	if !ok {
		kept = make()
		c[path] = kept
	}
	return kept
}
