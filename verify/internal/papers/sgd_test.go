package papers

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// Five steps of SGD, entry by entry. The momentum is not carried along but computed from all gradients so far.
func TestI50SGDTrajectory(t *testing.T) {
	start, g := fixture.Random("w", 3, 4), differing(1)
	for _, c := range []hand.SGD{{Rate: 0.05}, {Rate: 0.05, Decay: 0.1}, {Rate: 0.05, Momentum: 0.9, Decay: 0.1}} {
		want := hand.Zeros[float64](5*3, 4)
		for at, w := range start.Data {
			for step := 1; step <= 5; step++ {
				m := 0.0
				for i := 1; i <= step; i++ {
					m += math.Pow(c.Momentum, float64(step-i)) * g(i).Data[at]
				}
				w -= c.Rate*m + c.Rate*c.Decay*w
				want.Data[(step-1)*len(start.Data)+at] = w - start.Data[at]
			}
		}
		by := func(_ int, w, g, m, v matrix) (w1, m1, v1 matrix) {
			w1, m1 = hand.SGDUpdate(c, w, g, m)
			return w1, m1, v
		}
		near(t, fmt.Sprintf("%+v", c), update(by).path(start, g), want)
	}
}

// Without a gradient both optimizers leave θ(1 − ηλ). AdamW's first step is η against the sign of the gradient, for any
// size of it, plus the decay; SGD's is η times the gradient.
func TestI50FirstStep(t *testing.T) {
	w, g, zero := fixture.Random("w", 3, 4), fixture.Random("g", 3, 4).Scale(1e3), hand.Zeros[float64](3, 4)
	c, s := adamw(), hand.SGD{Rate: 0.01, Momentum: 0.9, Decay: 0.1}
	decayed := w.Scale(1 - c.Rate*c.Decay)
	still, _, _ := hand.AdamWUpdate(c, 1, w, zero, zero, zero)
	near(t, "AdamW, g = 0", still, decayed)
	still, _ = hand.SGDUpdate(s, w, zero, zero)
	near(t, "SGD, g = 0", still, decayed)
	signs := each(g, func(x float64) float64 { return math.Copysign(1, x) })
	c.Eps = 0
	first, _, _ := hand.AdamWUpdate(c, 1, w, g, zero, zero)
	near(t, "AdamW, first step", first, decayed.Sub(signs.Scale(c.Rate)))
	first, _ = hand.SGDUpdate(s, w, g, zero)
	near(t, "SGD, first step", first, decayed.Sub(g.Scale(s.Rate)))
}

// The library's optimizers on two micro-batches a step, clipped, are those by hand on the clipped mean: for five steps,
// in float64, on a matrix, which decays, and a vector, which does not.
func TestI50LibraryFollows(t *testing.T) {
	const rate, clip = 0.05, 0.4
	c := adamw()
	c.Rate = rate
	for name, o := range map[string]struct {
		make func(params []graph.Expr) (optim.Optimizer, error)
		step func(t int, decay float64, w, g, m, v matrix) (w1, m1, v1 matrix)
	}{
		"sgd": {func(params []graph.Expr) (optim.Optimizer, error) {
			o, err := optim.NewSGD(params)
			o.Decay, o.Clip = c.Decay, clip
			return o, err
		}, func(_ int, decay float64, w, g, m, v matrix) (w1, m1, v1 matrix) {
			w1, m1 = hand.SGDUpdate(hand.SGD{Rate: rate, Decay: decay}, w, g, m)
			return w1, m1, v
		}},
		"sgd with momentum": {func(params []graph.Expr) (optim.Optimizer, error) {
			o, err := optim.NewSGD(params)
			o.Momentum, o.Decay, o.Clip = 0.9, c.Decay, clip
			return o, err
		}, func(_ int, decay float64, w, g, m, v matrix) (w1, m1, v1 matrix) {
			w1, m1 = hand.SGDUpdate(hand.SGD{Rate: rate, Momentum: 0.9, Decay: decay}, w, g, m)
			return w1, m1, v
		}},
		"adamw": {func(params []graph.Expr) (optim.Optimizer, error) {
			o, err := optim.NewAdamW(params)
			o.Beta1, o.Beta2, o.Decay, o.Clip = c.Beta1, c.Beta2, c.Decay, clip
			return o, err
		}, func(t int, decay float64, w, g, m, v matrix) (w1, m1, v1 matrix) {
			c := c
			c.Decay = decay
			return hand.AdamWUpdate(c, t, w, g, m, v)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := graph.New(graph.Float64, 1).Root()
			params := []graph.Expr{s.Param("w", graph.Const(0), 3, 4), s.Param("b", graph.Const(0), 5)}
			slopes := []graph.Expr{s.Value("dw", graph.Const(0), 3, 4), s.Value("db", graph.Const(0), 1, 5)}
			decay := []float64{c.Decay, 0}
			p, err := graph.Compile(params[0].Mul(slopes[0]).SumAll().Add(params[1].Mul(slopes[1]).SumAll()), params...)
			if err != nil {
				t.Fatal(err)
			}
			opt, err := o.make(params)
			if err != nil {
				t.Fatal(err)
			}
			var w, m, v [2]matrix
			for i, x := range params {
				rows, cols := matrixShape(x.Tensor().Shape)
				w[i], m[i], v[i] = fixture.Random(x.Name(), rows, cols), hand.Zeros[float64](rows, cols), hand.Zeros[float64](rows, cols)
				fill(x, w[i])
			}
			for step := 1; step <= 5; step++ {
				var g [2]matrix
				squares := 0.0
				for i := range params {
					first, second := gradientOf(i, step, 1, w[i]), gradientOf(i, step, 2, w[i])
					g[i] = first.Add(second).Scale(0.5)
					squares += dot(g[i], g[i])
				}
				for micro := 1; micro <= 2; micro++ {
					for i := range params {
						fill(slopes[i], gradientOf(i, step, micro, w[i]))
					}
					if err := p.Run(); err != nil {
						t.Fatal(err)
					}
					if micro == 1 {
						err = opt.Accumulate(p)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				norm, err := opt.Update(p, rate)
				if err != nil || !(math.Abs(norm-math.Sqrt(squares)) <= 1e-14) || !(norm > clip) {
					t.Fatalf("step %d: got norm %v (%v), want %v, above %v", step, norm, err, math.Sqrt(squares), clip)
				}
				for i, x := range params {
					w[i], m[i], v[i] = o.step(step, decay[i], w[i], g[i].Scale(clip/norm), m[i], v[i])
					near(t, fmt.Sprintf("%s in step %d", x.Name(), step), verify.FromTensor(x.Tensor()), w[i])
				}
			}
		})
	}
}

// gradientOf returns a gradient for parameter i in a micro-batch of a step.
func gradientOf(i, step, micro int, like matrix) matrix {
	return fixture.Random(fmt.Sprint("gradient ", i, step, micro), like.Rows, like.Cols)
}
