package fused

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/recurrent"
	"github.com/pedestrian-ml/pedestrian/graph/internal/ops"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// RecurrenceShape holds the sizes of a linear recurrence on packed projections. The rows of qkv are the Batch·Context
// tokens. Its columns are the queries of all Heads, QK features each, then the keys, QK features, then the values, V
// features. Delta selects the delta rule.
type RecurrenceShape struct {
	Batch, Context, Heads, QK, V int
	Delta                        bool
}

// width returns the number of columns of the packed projections, Heads·(2·QK + V).
func (h RecurrenceShape) width() int { return h.Heads * (2*h.QK + h.V) }

// states returns the number of floats in the states of a sequence.
func (h RecurrenceShape) states() int { return h.Heads * h.QK * h.V }

// recurrence returns the operation on operands of rows, or an error if one does not fit.
func (h RecurrenceShape) recurrence(qkv, gates, beta, states graph.Expr, rows int) (r ops.Recurrence, err error) {
	if s := qkv.Operand().Shape(); len(s) != 2 || s[0] != rows || s[1] != h.width() || h.QK < 1 {
		return r, errors.Errorf("%v is not (%d, %d), the packed projections of %+v", s, rows, h.width(), h)
	}
	r.Shape = recurrent.Linear[float64]{
		Batch: h.Batch, Tokens: h.Context, Heads: h.Heads, QK: h.QK, V: h.V, Delta: h.Delta,
	}
	if gates.Operand() != nil {
		s := gates.Operand().Shape()
		if len(s) != 2 || s[0] != rows && s[0] != 1 || s[1] != h.Heads && s[1] != h.Heads*h.QK {
			return r, errors.Errorf("got gates %v, want (%d or 1, %d or %d)", s, rows, h.Heads, h.Heads*h.QK)
		}
		r.Shape.Gates, r.Shape.Fixed = s[1]/h.Heads, s[0] < rows
	}
	if beta.Operand() != nil {
		if s := beta.Operand().Shape(); len(s) != 2 || s[0] != rows || s[1] != h.Heads {
			return r, errors.Errorf("got β %v, want (%d, %d)", s, rows, h.Heads)
		}
		r.Beta = true
	}
	if states.Operand() != nil {
		if s := states.Operand().Shape(); len(s) != 2 || s[0] != h.Batch || s[1] != h.states() {
			return r, errors.Errorf("got states %v, want (%d, %d)", s, h.Batch, h.states())
		}
		r.State = true
	}
	return r, nil
}

// Recurrence returns the kernel of a linear recurrence with a matrix S (QK, V) as the state of every head: (B·T,
// H(2·QK+V)) → (B·T, H·V). For every token,
//
//	S ← Diag(α)·S + β·k·vᵀ,  y = Sᵀ·q
//
// or, by the delta rule, in which S is first asked for the value of k,
//
//	S ← (I − β·k·kᵀ)·Diag(α)·S + β·k·vᵀ,  y = Sᵀ·q
//
// The gates are ln α ≤ 0, one for each head (B·T, H) or for each feature of its keys (B·T, H·QK); −∞ forgets
// everything. Gates of one row are constants that hold for all tokens. β is (B·T, H). Empty gates and an empty β stand
// for α = 1 and β = 1. The tokens are processed in chunks, by products of matrices: time and memory are linear in T,
// and the results are the same for any number of threads.
//
// The states before the first token (B, H·QK·V) are optional; without them the recurrence begins with zeros. With them,
// after holds the states after the last token. No gradient flows through the states: backpropagation through time ends
// there.
func Recurrence(qkv, gates, beta, states graph.Expr, h RecurrenceShape) (y, after graph.Expr, ok bool) {
	others := present(gates, beta, states)
	var last *ops.Node
	y, ok = qkv.Kernel("recurrence", func(g *ops.Builder) (n *ops.Node, err error) {
		r, err := h.recurrence(qkv, gates, beta, states, h.Batch*h.Context)
		if err != nil {
			return nil, err
		}
		n, last, err = g.Recurrence(r, append([]*ops.Node{qkv.Operand()}, operands(others...)...)...)
		return n, err
	}, others...)
	if ok && states.Graph() != nil {
		after = y.Operate("states after a recurrence", func(g *ops.Builder) (*ops.Node, error) { return last, nil })
	}
	return y, after, ok
}

// RecurrenceNorms returns the kernel of the norms √ΣS² of the states of Recurrence after every token, one for each
// head: (B·T, H(2·QK+V)) → (B·T, H). It goes from token to token in float64, and has no derivative.
func RecurrenceNorms(qkv, gates, beta, states graph.Expr, h RecurrenceShape) (norms graph.Expr, ok bool) {
	others := present(gates, beta, states)
	return qkv.Kernel("recurrence norms", func(g *ops.Builder) (*ops.Node, error) {
		r, err := h.recurrence(qkv, gates, beta, states, h.Batch*h.Context)
		if err != nil {
			return nil, err
		}
		return g.RecurrenceNorms(r, append([]*ops.Node{qkv.Operand()}, operands(others...)...)...)
	}, others...)
}

// RecurrenceCache holds the states of a linear recurrence after the tokens so far. Its size does not depend on their
// number.
type RecurrenceCache struct {
	shape RecurrenceShape
	cachedState
}

// NewRecurrenceCache returns the cache before the first token.
func NewRecurrenceCache(h RecurrenceShape) *RecurrenceCache {
	numbers := float64(h.Batch) * float64(h.Heads) * float64(h.QK) * float64(h.V)
	return &RecurrenceCache{h, newCachedState(h.Batch, numbers)}
}

// Select returns a cache for steps of some sequences.
func (c *RecurrenceCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	h, s := c.shape, c.cachedState
	h.Batch, s.lanes = len(rows), s.selected(rows)
	return &RecurrenceCache{h, s}
}

// CachedRecurrence returns Recurrence for n new tokens per sequence, which continue from the states of the cache: (B·n,
// H(2·QK+V)) → (B·n, H·V). Its time does not depend on the number of earlier tokens. The input at is one integer, the
// number of these tokens, or one for each sequence. 0 forgets everything; any other number fails with ErrOrder.
// CachedRecurrence has no derivative and no reference: it equals rows at … at+n−1 of Recurrence.
func CachedRecurrence(qkv, gates, beta, at graph.Expr, cache *RecurrenceCache) graph.Expr {
	others := present(gates, beta)
	return qkv.Operate("cached recurrence", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to continue from")
		}
		h, s := cache.shape, qkv.Operand().Shape()
		if len(s) != 2 || s[0]%h.Batch != 0 {
			return nil, errors.Errorf("%v is not (n·%d, %d), the packed projections of %+v", s, h.Batch, h.width(), h)
		}
		h.Context = s[0] / h.Batch
		r, err := h.recurrence(qkv, gates, beta, graph.Expr{}, s[0])
		if err != nil {
			return nil, err
		}
		if err := cache.checkPosition(at); err != nil {
			return nil, err
		}
		operands := append([]*ops.Node{qkv.Operand()}, operands(others...)...)
		return g.CachedRecurrence(r, cache.held, cache.step(at, h.Context), operands...)
	}, append(others, at)...)
}

// TimeDecay returns the kernel of −e^a ∘ softplus(x), the logarithms of the gates of a recurrence with time steps
// softplus(x): x (n, H) or (n, H·r), r numbers of every head, a (H) → the shape of x.
func TimeDecay(x, a graph.Expr) (y graph.Expr, ok bool) {
	return x.Kernel("time decay", func(g *ops.Builder) (*ops.Node, error) {
		s := x.Operand().Shape()
		if n := a.Operand().Shape().TotalSize(); len(s) != 2 || n < 1 || s[1]%n != 0 {
			return nil, errors.Errorf("got %d rates for %v", n, s)
		}
		n := s[1] / a.Operand().Shape().TotalSize()
		own := ops.Own{
			Name: "time decay", Shape: s, F32: timeDecay[float32](g.Pool, n), F64: timeDecay[float64](g.Pool, n),
		}
		return g.Apply(own, []*ops.Node{x.Operand(), a.Operand()})
	}, a)
}

// timeDecay has a rate for every per columns. Kernels compute the entries of x, which are multiplied column by column.
func timeDecay[T float32 | float64](p *kernel.Pool, per int) ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward: func(y []T, x [][]T) {
			kernel.Softplus(p, y, x[0])
			for j, a := range x[1] {
				rate := -elementary.Exp(float64(a))
				for at := j * per; at < len(y); at += len(x[1]) * per {
					for i, v := range y[at:][:per] {
						y[at+i] = T(rate * float64(v))
					}
				}
			}
		},
		Backward: func(dx [][]T, dy, y []T, x [][]T) {
			kernel.Sigmoid(p, dx[0], x[0]) // the derivative of softplus
			for j, a := range x[1] {
				rate := -elementary.Exp(float64(a))
				for at := j * per; at < len(y); at += len(x[1]) * per {
					for i, d := range dy[at:][:per] {
						dx[0][at+i] = T(rate * float64(dx[0][at+i]) * float64(d))
						dx[1][j] += T(y[at+i] * d)
					}
				}
			}
		},
	}
}

// ScanShape holds the sizes of a recurrence entry by entry: Batch sequences of Context tokens, and Width features.
// Average selects averages.
type ScanShape struct {
	Batch, Context, Width int
	Average               bool
}

// scan returns the kernel on operands of the same number of tokens of every sequence, or an error if one does not fit.
func (h ScanShape) scan(b, c graph.Expr) (l recurrent.Entrywise, err error) {
	s := b.Operand().Shape()
	if len(s) != 2 || h.Batch < 1 || s[0]%h.Batch != 0 || s[1] != h.Width || !c.Operand().Shape().Eq(s) {
		return l, errors.Errorf("got %v and %v, want two of (n·%d, %d)", s, c.Operand().Shape(), h.Batch, h.Width)
	}
	return recurrent.Entrywise{Tokens: s[0] / h.Batch, Width: s[1], Average: h.Average}, nil
}

// Scan returns the kernel of the recurrence of every entry by itself, with h_0 = 0, in each sequence: (B·T, d), (B·T,
// d) → (B·T, d). For gates a = 1 + c,
//
//	h_t = (1 + c_t)∘h_{t−1} + b_t,  or, of averages,  h_t = (1 + c_t)∘h_{t−1} − c_t∘b_t
//
// as in Expr.Scan. Given c, gates near 1 keep their digits, and thousands of tokens do not add up roundings: the states
// are carried in float64. The results are the same for any number of threads.
func Scan(b, c graph.Expr, h ScanShape) (y graph.Expr, ok bool) {
	return b.Kernel("scan", func(g *ops.Builder) (*ops.Node, error) {
		l, err := h.scan(b, c)
		if err == nil && l.Tokens != h.Context {
			err = errors.Errorf("got %d tokens of each sequence, want %d", l.Tokens, h.Context)
		}
		if err != nil {
			return nil, err
		}
		return g.Scan(l, b.Operand(), c.Operand())
	}, c)
}

// ScanCache holds the state of a Scan after the tokens so far, and what is lost when it is rounded: (B, 2, d).
type ScanCache struct {
	shape ScanShape
	cachedState
}

// NewScanCache returns the cache before the first token.
func NewScanCache(h ScanShape) *ScanCache {
	return &ScanCache{h, newCachedState(h.Batch, 2*float64(h.Batch)*float64(h.Width))}
}

// Select returns a cache for steps of some sequences.
func (c *ScanCache) Select(rows []int) Cache {
	if c == nil {
		return c
	}
	h, s := c.shape, c.cachedState
	h.Batch, s.lanes = len(rows), s.selected(rows)
	return &ScanCache{h, s}
}

// CachedScan returns Scan for n new tokens per sequence, which continue from those in the cache: (B·n, d), (B·n, d) →
// (B·n, d). The input at is as in CachedRecurrence. CachedScan has no derivative and no reference: it equals rows at …
// at+n−1 of Scan.
func CachedScan(b, c, at graph.Expr, cache *ScanCache) graph.Expr {
	return b.Operate("cached scan", func(g *ops.Builder) (*ops.Node, error) {
		if cache == nil {
			return nil, errors.New("no cache to continue from")
		}
		l, err := cache.shape.scan(b, c)
		if err == nil {
			err = cache.checkPosition(at)
		}
		if err != nil {
			return nil, err
		}
		return g.CachedScan(l, cache.held, cache.step(at, l.Tokens), b.Operand(), c.Operand())
	}, c, at)
}

// Share returns the kernel of −σ(z), the share by which a gate 1 − σ(z) is less than 1: (n, d) → (n, d).
func Share(z graph.Expr) (c graph.Expr, ok bool) {
	return z.Kernel("share", func(g *ops.Builder) (*ops.Node, error) {
		return g.Apply(ops.Own{
			Name: "share", Shape: z.Operand().Shape(), F32: share[float32](g.Pool), F64: share[float64](g.Pool),
		}, []*ops.Node{z.Operand()})
	})
}

func share[T float32 | float64](p *kernel.Pool) ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward:  func(c []T, x [][]T) { recurrent.Share(p, c, x[0]) },
		Backward: func(dx [][]T, dc, c []T, _ [][]T) { recurrent.ShareBackward(p, dx[0], dc, c) },
	}
}

// LRUDecay returns the kernel of a − 1 for the gates a = σ(Λ)^(power·σ(z)) of a real-gated linear recurrent unit: z (n,
// d), Λ (d) → (n, d).
func LRUDecay(z, lambda graph.Expr, power float64) (c graph.Expr, ok bool) {
	return z.Kernel("lru decay", func(g *ops.Builder) (*ops.Node, error) {
		s := z.Operand().Shape()
		if n := lambda.Operand().Shape().TotalSize(); len(s) != 2 || s[1] != n {
			return nil, errors.Errorf("got %d numbers Λ for %v", n, s)
		}
		if !(power > 0 && power <= math.MaxFloat64) {
			return nil, errors.Errorf("power: got %v, want a positive number", power)
		}
		l := recurrent.LRU{Power: power}
		own := ops.Own{
			Name: "lru decay", Shape: s, F32: lruDecay[float32](g.Pool, l), F64: lruDecay[float64](g.Pool, l),
		}
		return g.Apply(own, []*ops.Node{z.Operand(), lambda.Operand()})
	}, lambda)
}

func lruDecay[T float32 | float64](p *kernel.Pool, l recurrent.LRU) ops.OwnPass[T] {
	var rates []float64 // for every run
	return ops.OwnPass[T]{
		Forward: func(c []T, x [][]T) {
			if rates == nil {
				rates = make([]float64, len(x[1]))
			}
			recurrent.Decay(p, l, c, x[0], x[1], rates)
		},
		Backward: func(dx [][]T, dc, c []T, x [][]T) {
			recurrent.DecayBackward(p, l, dx[0], dx[1], dc, c, x[0], x[1])
		},
	}
}

// LRUInput returns the kernel of √(1 − a²)∘v, given c = a − 1 for gates a in 0 … 1: (n, d), (n, d) → (n, d). Its
// gradient at c = 0, which is infinite, is 0: its product with LRUDecay's has the limit 0.
func LRUInput(v, c graph.Expr) (y graph.Expr, ok bool) {
	return v.Kernel("lru input", func(g *ops.Builder) (*ops.Node, error) {
		s := v.Operand().Shape()
		if !c.Operand().Shape().Eq(s) {
			return nil, errors.Errorf("got %v and %v, want the same shape", s, c.Operand().Shape())
		}
		own := ops.Own{Name: "lru input", Shape: s, F32: lruInput[float32](g.Pool), F64: lruInput[float64](g.Pool)}
		return g.Apply(own, []*ops.Node{v.Operand(), c.Operand()})
	}, c)
}

func lruInput[T float32 | float64](p *kernel.Pool) ops.OwnPass[T] {
	return ops.OwnPass[T]{
		Forward:  func(y []T, x [][]T) { recurrent.Input(p, y, x[0], x[1]) },
		Backward: func(dx [][]T, dy, _ []T, x [][]T) { recurrent.InputBackward(p, dx[0], dx[1], dy, x[0], x[1]) },
	}
}

// AddScaled returns the kernel of x + y∘d, where every column of y has the factor of its group: x and y (n, H·r), d (H)
// → (n, H·r).
func AddScaled(x, y, d graph.Expr) (z graph.Expr, ok bool) {
	return x.Kernel("add scaled", func(g *ops.Builder) (*ops.Node, error) {
		s := x.Operand().Shape()
		n := d.Operand().Shape().TotalSize()
		if len(s) != 2 || !y.Operand().Shape().Eq(s) || n < 1 || s[1]%n != 0 {
			return nil, errors.Errorf("got %v, %v and %d factors, want two matrices of one shape",
				s, y.Operand().Shape(), n)
		}
		return g.AddScaled(x.Operand(), y.Operand(), d.Operand())
	}, y, d)
}
