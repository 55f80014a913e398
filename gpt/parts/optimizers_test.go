package parts_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

type matrix = hand.Matrix[float64]

// update is step t, from 1, of the parameter x with the numbers w and their gradient, from the moments of the previous
// step.
type update func(c train.Training, t int, x param, w, g, m, v matrix) (w1, m1, v1 matrix)

// param is a parameter with the further tensors that the optimizer keeps for it, before the step.
type param struct {
	graph.Expr
	further map[string]matrix
}

// packed returns the widths of the matrices of a parameter of the given width.
func (p param) packed(width int) []int {
	if widths := p.PackedColumns(); widths != nil {
		return widths
	}
	return []int{width}
}

// inBlock reports whether p is a matrix of a block.
func (p param) inBlock() bool { return strings.HasPrefix(p.Name(), "h.") && len(p.Tensor().Shape) > 1 }

// byHand holds the updates of the optimizers by the name of the part.
var byHand = map[parts.Name]update{
	"adamw": adamwByHand,
	"soap":  soapByHand,
	"muon": func(c train.Training, t int, x param, w, g, m, v matrix) (w1, m1, v1 matrix) {
		if !x.inBlock() {
			return adamwByHand(c, t, x, w, g, m, v)
		}
		var ws, ms []matrix
		from := 0
		for _, width := range x.packed(w.Cols) {
			cut := func(x matrix) matrix { return x.Columns(from, from+width) }
			o := hand.Muon{Rate: c.LearningRate, Momentum: 0.95, Decay: c.WeightDecay,
				Scale: 0.2 * math.Sqrt(float64(max(w.Rows, width))), Steps: 5}
			w1, m1 := hand.MuonUpdate(o, cut(w), cut(g), cut(m))
			ws, ms, from = append(ws, w1), append(ms, m1), from+width
		}
		return hand.Join(ws...), hand.Join(ms...), v
	},
	"sgd": func(c train.Training, _ int, _ param, w, g, m, v matrix) (w1, m1, v1 matrix) {
		w1, m1 = hand.SGDUpdate(hand.SGD{Rate: c.LearningRate, Momentum: c.Beta1, Decay: c.WeightDecay}, w, g, m)
		return w1, m1, v
	},
	"schedule_free": func(c train.Training, t int, _ param, w, g, m, v matrix) (w1, m1, v1 matrix) {
		o := hand.ScheduleFree{Rate: c.LearningRate, Beta1: cmp.Or(c.Beta1, 0.9), Beta2: c.Beta2, Eps: 1e-8,
			Decay: c.WeightDecay}
		if t == 1 {
			m = w
		}
		x := w.Sub(m.Scale(1 - o.Beta1)).Scale(1 / o.Beta1)
		w1, _, m1, v1 = hand.ScheduleFreeUpdate(o, t, w, g, x, m, v)
		return w1, m1, v1
	},
	"lion": func(c train.Training, _ int, _ param, w, g, m, v matrix) (w1, m1, v1 matrix) {
		o := hand.Lion{Rate: c.LearningRate, Beta1: c.Beta1, Beta2: c.Beta2, Decay: c.WeightDecay}
		w1, m1 = hand.LionUpdate(o, w, g, m)
		return w1, m1, v
	},
}

func adamwByHand(c train.Training, t int, _ param, w, g, m, v matrix) (w1, m1, v1 matrix) {
	o := hand.AdamW{Rate: c.LearningRate, Beta1: c.Beta1, Beta2: c.Beta2, Eps: 1e-8, Decay: c.WeightDecay}
	return hand.AdamWUpdate(o, t, w, g, m, v)
}

// soapByHand takes the eigenvectors from x, because the formula alone does not determine the eigenvectors of
// eigenvalues near 0. TestSOAPByHand in graph/optim compares them.
func soapByHand(c train.Training, t int, x param, w, g, m, v matrix) (w1, m1, v1 matrix) {
	if !x.inBlock() {
		return adamwByHand(c, t, x, w, g, m, v)
	}
	o := hand.SOAP{Rate: c.LearningRate, Beta1: c.Beta1, Beta2: c.Beta2, Eps: 1e-8, Decay: c.WeightDecay}
	var ws, ms, vs []matrix
	from := 0
	for i, width := range x.packed(w.Cols) {
		cut := func(x matrix) matrix { return x.Columns(from, from+width) }
		vectors := func(name string) (q matrix) {
			if len(x.PackedColumns()) > 0 {
				name += fmt.Sprint(i)
			}
			if t > 1 { // they start as I
				q = x.further[name].Transpose()
			}
			return q
		}
		w1, s := hand.SOAPUpdate(o, t, cut(w), cut(g), hand.SOAPState[float64]{M: cut(m), V: cut(v),
			QL: vectors("ql"), QR: vectors("qr")})
		ws, ms, vs, from = append(ws, w1), append(ms, s.M), append(vs, s.V), from+width
	}
	return hand.Join(ws...), hand.Join(ms...), hand.Join(vs...)
}

// trained is the loss Σ (x − a)² of matrices and a vector x, for random a, with an optimizer. A row of the first matrix
// is longer than a piece, and two threads share the pieces. The second one has more rows than columns, the third packs
// three, and the last belongs to no block.
type trained struct {
	*optim.Optimizer
	c      train.Training
	p      *graph.Program
	x, a   []graph.Expr
	shapes [][2]int
}

func newTrained(t *testing.T, dtype graph.Dtype, c train.Training, o parts.Optimizer) trained {
	t.Helper()
	g := graph.New(dtype, 1)
	g.SetThreads(2)
	s := g.Root()
	r := trained{c: c, shapes: [][2]int{{1, 5}, {3, 8195}, {7, 2}, {3, 9}, {4, 3}}}
	var loss graph.Expr
	for i, name := range []string{"h.0.b", "h.0.w", "h.1.w", "h.0.qkv", "wte.w"} {
		shape := r.shapes[i][:]
		if i == 0 {
			shape = shape[1:]
		}
		x, a := s.Param(name, graph.Normal(1), shape...), s.Value(name+"'", graph.Const(0), shape...)
		term := x.Sub(a).Square().SumAll()
		if i == 0 {
			loss = term
		} else {
			loss = loss.Add(term)
		}
		r.x, r.a = append(r.x, x), append(r.a, a)
	}
	r.x[3].PackColumns(2, 4, 3)
	var err, err2 error
	r.p, err = graph.Compile(loss, r.x...)
	r.Optimizer, err2 = optim.New(r.x, o.New(c))
	if err := errors.Join(err, err2); err != nil {
		t.Fatalf("%s: %v", o.Name, err)
	}
	r.Decay, r.Clip = c.WeightDecay, c.GradClip
	return r
}

// micro draws a for a micro-batch and runs the program.
func (r trained) micro(t *testing.T, step, micro int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(step), uint64(micro)))
	for _, a := range r.a {
		for i := range a.Tensor().Len() {
			a.Tensor().Set(i, rng.NormFloat64())
		}
	}
	if err := r.p.Run(); err != nil {
		t.Fatal(err)
	}
}

// step does a step of two micro-batches, and returns the mean gradient of every parameter and its norm.
func (r trained) step(t *testing.T, step int) (grads []matrix, norm float64) {
	t.Helper()
	for micro := range 2 {
		if r.micro(t, step, micro); micro == 0 {
			if err := r.Accumulate(r.p); err != nil {
				t.Fatal(err)
			}
		}
		for i, x := range r.x {
			g := hand.NewMatrix(r.shapes[i][0], r.shapes[i][1], r.p.Grad(x).Floats()...).Scale(0.5)
			if micro == 0 {
				grads = append(grads, g)
			} else {
				grads[i] = grads[i].Add(g)
			}
		}
	}
	norm, err := r.Update(r.p, r.c.LearningRate)
	if err != nil {
		t.Fatal(err)
	}
	return grads, norm
}

// further returns what the optimizer keeps for every parameter beside the moments, which have its shape.
func (r trained) further() map[string]map[string]matrix {
	all := map[string]map[string]matrix{}
	for _, x := range r.x {
		all[x.Name()] = map[string]matrix{}
	}
	r.Moments(func(kept, param string, t graph.Tensor) {
		if kept != "m" && kept != "v" {
			all[param][kept] = hand.NewMatrix(t.Shape[0], t.Shape[1], t.Floats()...)
		}
	})
	return all
}

// Every optimizer of the list follows its formula by hand for five steps, in both types: on the clipped mean of two
// micro-batches, on matrices, which decay, and a vector, which does not. A new optimizer without a formula fails here.
func TestOptimizersByHand(t *testing.T) {
	for _, o := range parts.Optimizers() {
		update := byHand[o.Name]
		if update == nil {
			t.Errorf("%s: no formula by hand, want a row in byHand of this file", o.Name)
			continue
		}
		for _, beta1 := range []float64{0, 0.5} {
			for dtype, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-12, graph.Float32: 1e-5} {
				c := train.Training{LearningRate: 0.1, Beta1: beta1, Beta2: 0.75, WeightDecay: 0.125, GradClip: 50,
					PreconditionFrequency: 2}
				if o.Name == "soap" && dtype == graph.Float32 {
					tolerance = 1e-4 // it rotates every gradient, whose rounding its smallest numbers then have
				}
				r := newTrained(t, dtype, c, o)
				n := len(r.x)
				w, m, v := make([]matrix, n), make([]matrix, n), make([]matrix, n)
				for i, x := range r.x {
					rows, cols := r.shapes[i][0], r.shapes[i][1]
					w[i] = hand.NewMatrix(rows, cols, x.Tensor().Floats()...)
					m[i], v[i] = hand.Zeros[float64](rows, cols), hand.Zeros[float64](rows, cols)
				}
				for step := 1; step <= 5; step++ {
					further := r.further()
					grads, norm := r.step(t, step)
					if !(norm > c.GradClip) {
						t.Fatalf("%s: norm %v, want more than the clip %v", o.Name, norm, c.GradClip)
					}
					for i, x := range r.x {
						c := c
						if i == 0 {
							c.WeightDecay = 0
						}
						w[i], m[i], v[i] = nearest(x.Tensor(), tolerance, func(shift float64) (w1, m1, v1 matrix) {
							return update(
								c, step, param{x, further[x.Name()]}, w[i],
								grads[i].Scale(c.GradClip/norm).Shift(shift), m[i], v[i],
							)
						})
						far, at := furthest(x.Tensor(), w[i])
						if !(far <= tolerance) {
							t.Fatalf("%s, %v, β₁ = %v, step %d, %s, entry %d: got %v, by hand %v",
								o.Name, dtype, beta1, step, x.Name(), at, x.Tensor().At(at), w[i].Data[at])
						}
					}
				}
			}
		}
	}
}

// nearest returns the update by hand. A weight further than the tolerance from got becomes the weight of a gradient
// shifted by the tolerance, if this is near enough: an update by sign jumps at 0, where float32 may round to the other
// side.
func nearest(got graph.Tensor, tolerance float64, update func(shift float64) (w, m, v matrix)) (w, m, v matrix) {
	w, m, v = update(0)
	if far, _ := furthest(got, w); far <= tolerance {
		return w, m, v
	}
	for _, shift := range []float64{-tolerance, tolerance} {
		beside, _, _ := update(shift)
		for i, x := range beside.Data {
			if g := got.At(i); math.Abs(g-w.Data[i]) > tolerance && math.Abs(g-x) <= tolerance {
				w.Data[i] = x
			}
		}
	}
	return w, m, v
}

// furthest returns the largest distance of an entry, and its index.
func furthest(got graph.Tensor, want matrix) (far float64, at int) {
	for i, x := range want.Data {
		if d := math.Abs(got.At(i) - x); !(d <= far) {
			far, at = d, i
		}
	}
	return far, at
}

// Every optimizer reduces a loss: its formula and the formula by hand do not both have a wrong sign.
func TestOptimizersDescend(t *testing.T) {
	for _, o := range parts.Optimizers() {
		r := newTrained(t, graph.Float64, train.Training{LearningRate: 0.01, Beta1: 0.5, Beta2: 0.75}, o)
		loss := math.Inf(1)
		for step := range 5 {
			if r.micro(t, 1, 1); !(r.p.Loss() < loss) {
				t.Errorf("%s, step %d: the loss goes from %v to %v", o.Name, step, loss, r.p.Loss())
			}
			loss = r.p.Loss()
			if _, err := r.Update(r.p, 0.01); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Parameters, moments and the number of steps are the complete state of every optimizer: copied, they resume to the
// same bits. No moment is kept that a step does not write.
func TestOptimizersResume(t *testing.T) {
	for _, o := range parts.Optimizers() {
		c := train.Training{LearningRate: 0.1, Beta1: 0.5, Beta2: 0.75, WeightDecay: 0.125}
		first, second := newTrained(t, graph.Float32, c, o), newTrained(t, graph.Float32, c, o)
		for step := range 3 {
			first.step(t, step)
		}
		state := map[string]graph.Tensor{}
		first.Moments(func(kept, param string, t graph.Tensor) { state[kept+"."+param] = t })
		for name, x := range state {
			if x.Len() > 0 && !slices.ContainsFunc(x.F32, func(x float32) bool { return x != 0 }) {
				t.Errorf("%s: keeps %s, which is 0 after three steps: want fewer moments", o.Name, name)
			}
		}
		second.Moments(func(kept, param string, to graph.Tensor) { copied(t, to, state[kept+"."+param]) })
		for i, x := range first.x {
			copied(t, second.x[i].Tensor(), x.Tensor())
		}
		second.Steps = first.Steps
		for step := 3; step < 6; step++ {
			first.step(t, step)
			second.step(t, step)
		}
		for i, x := range first.x {
			if got, want := second.x[i].Tensor().F32, x.Tensor().F32; !slices.Equal(got, want) {
				t.Errorf("%s: resumed %s starts %v, uninterrupted %v", o.Name, x.Name(), got[:5], want[:5])
			}
		}
	}
}

func copied(t *testing.T, to, from graph.Tensor) {
	t.Helper()
	if err := to.Copy(from); err != nil {
		t.Fatal(err)
	}
}

// Of every optimizer, a β out of range is an error that names the optimizer, unless it changes nothing.
func TestOptimizersRefuse(t *testing.T) {
	for _, o := range parts.Optimizers() {
		refused := 0
		for _, bad := range []float64{-0.1, 1, math.NaN(), math.Inf(1)} {
			for i, c := range []train.Training{{Beta1: bad, Beta2: 0.5}, {Beta1: 0.5, Beta2: bad}} {
				rule := o.New(c)
				_, err := rule.State()
				switch used := fmt.Sprint(rule) != fmt.Sprint(o.New(train.Training{Beta1: 0.5, Beta2: 0.5})); {
				case used && (err == nil || !strings.Contains(
					err.Error(), fmt.Sprintf("got %v, want a number, 0 ≤ x < 1", bad),
				)):
					t.Errorf("%s: β%d = %v: got error %v", o.Name, i+1, bad, err)
				case used:
					refused++
				}
			}
		}
		if s, err := o.New(train.Training{}).State(); err != nil || s.Name != string(o.Name) || refused == 0 {
			t.Errorf("got state %+v and error %v, %d values refused, want the name %s", s, err, refused, o.Name)
		}
	}
}
