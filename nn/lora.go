package nn

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
)

// LoRA adds a trainable product of two thin matrices to a frozen affine layer (43):
//
//	y = x·w + b + s·x·d·u,  d (in, r), u (r, out)
//
// s is α/r, as LoRA was published, or α, as in the paper (errata B4): the caller chooses. u starts at 0, so that y is
// initially the base's. The error signal goes back through the frozen weight too (errata B3). If the base has several
// blocks of columns, such as q, k and v, each has its adapter.
type LoRA struct {
	Base     *Linear
	Adapters []Adapter
	Scale    float64
	scope    graph.Scope
}

// Adapter is the pair of thin matrices for columns From … To−1 of the base.
type Adapter struct {
	Down, Up graph.Expr // d (in, r), u (r, To−From)
	From, To int
}

// NewLoRA returns an Affine that wraps NewLinear at the scopes that adapts accepts, such as "h.3.attn.c_attn", with
// rank r and scale s. The adapter's parameters are lora_d and lora_u, under q, k and v if there are three blocks, under
// k and v if there are two.
func NewLoRA(adapts func(path string) bool, r int, scale float64) Affine {
	return func(s graph.Scope, in int, out []int, bias bool, init graph.Init) Layer {
		base := NewLinear(s, in, out, bias, init).(*Linear)
		switch {
		case adapts == nil:
			s.Failf("no function: adapts must report which layers have an adapter")
			return base
		case !adapts(s.Path()):
			return base
		case len(out) < 1 || len(out) > 3:
			s.Failf("%d blocks of columns: adapters are for 1 … 3", len(out))
			return base
		}
		l := &LoRA{Base: base, Scale: scale, scope: s}
		from := 0
		for i, w := range out {
			at := s
			if len(out) > 1 {
				at = s.Sub("%c", "qkv"[3-len(out)+i]) // two blocks are keys and values
			}
			l.Adapters = append(l.Adapters, Adapter{
				Down: at.Param("lora_d", graph.Normal(0.02), in, r),
				Up:   at.Param("lora_u", graph.Const(0), r, w),
				From: from, To: from + w,
			})
			from += w
		}
		return l
	}
}

// NewAdapted returns an adapter for a matrix w (in, out) that a layer at s has declared itself. It declares lora_d and
// lora_u, of rank r and scale s. The layer multiplies by the adapter's Matrix.
func NewAdapted(at graph.Scope, w graph.Expr, in, out, r int, scale float64) *LoRA {
	a := Adapter{at.Param("lora_d", graph.Normal(0.02), in, r), at.Param("lora_u", graph.Const(0), r, out), 0, out}
	return &LoRA{Base: &Linear{Weight: w, scope: at}, Adapters: []Adapter{a}, Scale: scale, scope: at}
}

// Matrix returns w + s·d·u, for an adapter by NewAdapted, or by NewLoRA with one block of columns.
func (l *LoRA) Matrix() graph.Expr { // (in, out)
	if l == nil || l.Base == nil || len(l.Adapters) == 0 {
		return graph.Expr{}
	}
	a := l.Adapters[0]
	return l.Base.Weight.In(l.scope).Add(a.up(a.Down.In(l.scope), l.Scale))
}

// Forward returns the frozen base plus the adapters.
func (l *LoRA) Forward(x graph.Expr) (result graph.Expr) { // (n, in) → (n, out)
	defer recoverUnbuilt(l, x, &result)
	y := l.Base.Forward(x)
	x = x.In(l.scope)
	var parts []graph.Expr
	for _, a := range l.Adapters {
		parts = append(parts, a.up(a.down(x), l.Scale)) // s·x·d·u    (n, To−From)
	}
	delta := parts[0]
	if len(parts) > 1 {
		delta = delta.Join(parts[1:]...)
	}
	return y.Add(delta)
}

// down returns x·d.
func (a Adapter) down(x graph.Expr) graph.Expr { // (n, in) → (n, r)
	if y, ok := fused.Linear(x, a.Down, graph.Expr{}); ok {
		return y
	}
	return x.MatMul(a.Down)
}

// up returns s·x·u.
func (a Adapter) up(x graph.Expr, s float64) graph.Expr { // (n, r) → (n, To−From)
	if y, ok := fused.Linear(x, a.Up, graph.Expr{}); ok {
		y, _ = fused.Scale(y, s)
		return y
	}
	return x.MatMul(a.Up).Scale(s)
}

// Merge adds s·d·u to the base's weight and sets u to 0: the same function, without the adapter's cost. A layer whose
// shapes differ from those that NewLoRA declares stays unchanged.
func (l *LoRA) Merge() {
	if l == nil || l.Base == nil || len(l.Base.Weight.Tensor().Shape) != 2 {
		return
	}
	w := l.Base.Weight.Tensor()
	cols := w.Shape[1]
	for _, a := range l.Adapters {
		d, u := a.Down.Tensor(), a.Up.Tensor()
		if len(d.Shape) != 2 || d.Shape[0] != w.Shape[0] || !slices.Equal(u.Shape, []int{d.Shape[1], a.To - a.From}) ||
			a.From < 0 || a.To > cols {
			continue
		}
		r, n, up := d.Shape[1], a.To-a.From, u.Floats()
		sum := make([]float64, n) // a row of d·u
		for i := range w.Shape[0] {
			clear(sum)
			for k := range r {
				x := d.At(i*r + k)
				for j, y := range up[k*n : (k+1)*n] {
					sum[j] += float64(x * y)
				}
			}
			for j, x := range sum {
				at := i*cols + a.From + j
				w.Set(at, w.At(at)+float64(l.Scale*x))
			}
		}
		for i := range u.Len() {
			u.Set(i, 0)
		}
	}
}
