package experts

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// mixture holds the operands of a mixture of experts.
type mixture[T kernel.Float] struct {
	Layer
	x, gates, dy []T
	w            Weights[T]
}

// newMixture returns random operands. Tokens choose few experts, some fewer than k, and none the last.
func newMixture[T kernel.Float](l Layer) mixture[T] {
	rng := rand.New(rand.NewPCG(1, uint64(l.Tokens)))
	random := func(n int) []T { return kerneltest.Random[T](rng, n) }
	m := mixture[T]{
		Layer: l, x: random(l.Tokens * l.Embd), dy: random(l.Tokens * l.Embd), gates: make([]T, l.Tokens*l.Experts),
	}
	for i := range l.Tokens {
		for _, e := range rng.Perm(max(1, l.Experts-1))[:min(max(1, l.Experts-1), l.Active-i%2*(l.Active/2))] {
			m.gates[i*l.Experts+e] = T(rng.Float64()) + 0.1
		}
	}
	for e := range l.Experts {
		for i, list := range []*[]Matrix[T]{&m.w.Gate, &m.w.Up, &m.w.Down} {
			w := Matrix[T]{Data: random(l.Embd * l.Inner)}
			if in := []int{l.Embd, l.Embd, l.Inner}[i]; l.Rank > 0 && (e+i)%3 > 0 { // others have no adapter
				w.A, w.B = random(in*l.Rank), random(l.Rank*(l.Embd+l.Inner-in))
			}
			*list = append(*list, w)
		}
	}
	return m
}

// run returns y, dx, dg and the gradients of the weights, in memory that holds NaN before.
func (m mixture[T]) run(threads int) (out [][]T) {
	blank := func(n int) []T { return slices.Repeat([]T{T(math.NaN())}, n) }
	l := m.Layer
	c := Mixture[T]{
		Layer: l, Pool: kernel.NewPool(threads), Products: gemm.Exact[T]{}, Routes: NewRoutes[T](l), Scale: scale,
	}
	low := func() (rows Low[T]) {
		if l.Rank > 0 {
			rows = Low[T]{blank(l.LowLen()), blank(l.LowLen()), blank(l.LowLen())}
		}
		return rows
	}
	k := Kept[T]{blank(l.RowsLen()), blank(l.HiddenLen()), blank(l.HiddenLen()), blank(l.HiddenLen()), low()}
	d := Grads[T]{
		X: blank(len(m.x)), Gates: blank(len(m.gates)), Rows: blank(l.RowsLen()),
		Hidden: blank(l.HiddenLen()), Gate: blank(l.HiddenLen()), Up: blank(l.HiddenLen()), Pairs: blank(l.Places()),
		Low: low(),
	}
	y := blank(len(m.x))
	c.Forward(y, m.x, m.gates, m.w, k, blank(l.RowsLen()))
	same := func(list []Matrix[T]) (blanks []Matrix[T]) {
		for _, w := range list {
			d := Matrix[T]{Data: blank(len(w.Data))}
			if w.A != nil {
				d.A, d.B = blank(len(w.A)), blank(len(w.B))
			}
			blanks = append(blanks, d)
		}
		return blanks
	}
	d.Weights = Weights[T]{same(m.w.Gate), same(m.w.Up), same(m.w.Down)}
	c.Backward(d, m.dy, m.gates, m.w, k)
	out = [][]T{y, d.X, d.Gates}
	for _, w := range slices.Concat(d.Weights.Gate, d.Weights.Up, d.Weights.Down) {
		out = append(out, w.Data)
	}
	for _, w := range slices.Concat(d.Weights.Gate, d.Weights.Up, d.Weights.Down) {
		if w.A != nil {
			out = append(out, w.A, w.B)
		}
	}
	return out
}

// scale is s of the adapters.
const scale = 0.7

// full returns w + s·a·b of w (in, out).
func (m mixture[T]) full(w Matrix[T], out int) []T {
	sum := slices.Clone(w.Data)
	if w.A != nil {
		for i := range sum {
			for r := range m.Rank {
				sum[i] += scale * w.A[i/out*m.Rank+r] * w.B[r*out+i%out]
			}
		}
	}
	return sum
}

// dense computes y by the equation, token by token.
func (m mixture[T]) dense() []T {
	y := make([]T, len(m.x))
	var gate, up, down [][]T
	for e := range m.Experts {
		gate, up = append(gate, m.full(m.w.Gate[e], m.Inner)), append(up, m.full(m.w.Up[e], m.Inner))
		down = append(down, m.full(m.w.Down[e], m.Embd))
	}
	for i := range m.Tokens {
		for e := range m.Experts {
			for j := range m.Inner {
				var a, b float64
				for c := range m.Embd {
					v := float64(m.x[i*m.Embd+c])
					a += v * float64(gate[e][c*m.Inner+j])
					b += v * float64(up[e][c*m.Inner+j])
				}
				h := a / (1 + math.Exp(-a)) * b * float64(m.gates[i*m.Experts+e])
				for c := range m.Embd {
					y[i*m.Embd+c] += T(h * float64(down[e][j*m.Embd+c]))
				}
			}
		}
	}
	return y
}

var layers = []Layer{
	{1, 1, 1, 1, 1, 0}, {5, 3, 7, 4, 2, 0}, {1, 9, 5, 8, 3, 2}, {67, 33, 40, 5, 2, 3}, {300, 32, 96, 3, 2, 0},
	{300, 31, 33, 3, 2, 5},
}

// TestExperts compares the result with the equation, and the gradients of the gates with differences: y is linear in
// them. The weights of the last expert, which no token chooses, have gradient 0.
func TestExperts(t *testing.T) {
	for _, l := range layers {
		m := newMixture[float64](l)
		out := m.run(2)
		for i, want := range m.dense() {
			if got := out[0][i]; !(math.Abs(got-want) <= 1e-11*max(1, math.Abs(want))) {
				t.Fatalf("%+v, entry %d: got %v, want %v", l, i, got, want)
			}
		}
		for at, g := range m.gates {
			if got := out[2][at]; g == 0 {
				if got != 0 {
					t.Errorf("%+v, gate %d: got gradient %v for a gate of 0", l, at, got)
				}
				continue
			}
			doubled := m
			doubled.gates = slices.Clone(m.gates)
			doubled.gates[at] *= 2
			want := 0.0
			for i, y := range doubled.dense() {
				want += (y - out[0][i]) * m.dy[i] / g
			}
			if got := out[2][at]; !(math.Abs(got-want) <= 1e-8*max(1, math.Abs(want))) {
				t.Fatalf("%+v, gate %d: got gradient %v, want %v", l, at, got, want)
			}
			if l.Tokens > 60 && at > 60 {
				break
			}
		}
		for i, dw := range out[3 : 3+3*l.Experts] {
			none := !slices.ContainsFunc(dw, func(v float64) bool { return v != 0 })
			if e := i % l.Experts; l.Experts > 1 && (e == l.Experts-1) && !none ||
				slices.ContainsFunc(dw, func(v float64) bool { return v != v }) {
				t.Errorf("%+v, weights %d of expert %d: got gradient %v", l, i/l.Experts, e, dw)
			}
		}
	}
}

// Along a direction of x, and of every matrix and its adapter, Σ dy∘y changes as the gradients say.
func TestExpertsBackward(t *testing.T) {
	for _, l := range layers {
		m := newMixture[float64](l)
		rng := rand.New(rand.NewPCG(2, uint64(l.Embd)))
		out := m.run(2)
		names, operands, grads := []string{"x"}, [][]float64{m.x}, [][]float64{out[1]}
		weights := slices.Concat(m.w.Gate, m.w.Up, m.w.Down)
		adapters := 3 + len(weights)
		for i, w := range weights {
			operands, grads = append(operands, w.Data), append(grads, out[3+i])
			names = append(names, fmt.Sprintf("matrix %d of expert %d", i/l.Experts, i%l.Experts))
			if w.A != nil {
				operands, grads = append(operands, w.A, w.B), append(grads, out[adapters], out[adapters+1])
				names, adapters = append(names, names[len(names)-1]+", a", names[len(names)-1]+", b"), adapters+2
			}
		}
		for i, x := range operands {
			if l.Tokens > 100 && i > 4 {
				break
			}
			const h = 1e-6
			v, kept := kerneltest.Random[float64](rng, len(x)), slices.Clone(x)
			loss := func(step float64) (sum float64) {
				for j := range x {
					x[j] = kept[j] + step*v[j]
				}
				for j, y := range m.dense() {
					sum += y * m.dy[j]
				}
				return sum
			}
			want, got, size := (loss(h)-loss(-h))/(2*h), 0.0, 0.0
			copy(x, kept)
			for j, d := range grads[i] {
				got, size = got+d*v[j], size+math.Abs(d*v[j])
			}
			if !(math.Abs(got-want) <= 1e-6*max(1, size)) {
				t.Errorf("%+v, %s: got %v along a direction, want %v", l, names[i], got, want)
			}
		}
	}
}

// Any number of threads gives the same bits.
func TestThreadsGiveTheSameBits(t *testing.T) {
	for _, l := range append(layers, Layer{500, 64, 160, 4, 2, 4}) {
		m := newMixture[float32](l)
		want := m.run(1)
		for _, threads := range []int{2, 3, 5} {
			for i, got := range m.run(threads) {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%+v, %d threads: result %d differs from that of one thread", l, threads, i)
				}
			}
		}
	}
}

// Gates of more than k experts are refused.
func TestTooManyGates(t *testing.T) {
	m := newMixture[float32](Layer{3, 2, 2, 3, 1, 0})
	m.gates = []float32{0, 1, 0, 1, 0, 2, 0, 0, 1}
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, "token 1: got more than 1 gates") {
			t.Errorf("got panic %q", got)
		}
	}()
	m.run(1)
	t.Error("computed")
}

// The gates are the k largest probabilities, also if some are equal, NaN or 0, and every gradient of one that is 0 is
// 0.
func TestGates(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	p := kernel.NewPool(2)
	for _, c := range []struct {
		r       Router
		z, want []float64
	}{
		{Router{Experts: 4, Active: 2}, []float64{1, 1, 1, 1}, []float64{0.25, 0.25, 0, 0}},
		{Router{Experts: 4, Active: 2, Norm: true}, []float64{1, 3, 3, 3}, []float64{0, 0.5, 0.5, 0}},
		{Router{Experts: 3, Active: 3, Sigmoid: true}, []float64{0, 1000, -1000}, []float64{0.5, 1, 0}},
		{Router{Experts: 3, Active: 2, Sigmoid: true, Norm: true}, []float64{-1000, -1000, -1000}, []float64{0, 0, 0}},
		{Router{Experts: 3, Active: 1, Sigmoid: true}, []float64{0, nan, 5}, []float64{0, nan, 0}},
		{Router{Experts: 3, Active: 1}, []float64{-inf, 0, -inf}, []float64{0, 1, 0}},
	} {
		y, dz := make([]float64, len(c.z)), make([]float64, len(c.z))
		Gates(p, c.r, y, c.z, nil)
		for i, want := range c.want {
			if got := y[i]; !(math.Abs(got-want) <= 1e-15) && (got == got || want == want) {
				t.Errorf("%+v of %v: got gates %v, want %v", c.r, c.z, y, c.want)
			}
		}
		GatesBackward(p, c.r, dz, []float64{1, 2, 3, 4}[:len(c.z)], y, c.z)
		for i, v := range dz {
			if v != v && c.z[i] == c.z[i] && !slices.ContainsFunc(c.z, math.IsNaN) {
				t.Errorf("%+v of %v: got gradient %v", c.r, c.z, dz)
			}
		}
	}
}

// scores returns the probabilities of a row of logits, written out.
func scores(r Router, z []float64) (p []float64) {
	total := 0.0
	for _, v := range z {
		total += math.Exp(v)
	}
	for _, v := range z {
		if r.Sigmoid {
			p = append(p, 1/(1+math.Exp(-v)))
		} else {
			p = append(p, math.Exp(v)/total)
		}
	}
	return p
}

// routings returns routers of every form, with logits of seven tokens and a bias that changes their choices.
func routings() (list []Router, z, bias []float64) {
	for _, sigmoid := range []bool{false, true} {
		for _, norm := range []bool{false, true} {
			list = append(list, Router{Experts: 5, Active: 2, Sigmoid: sigmoid, Norm: norm},
				Router{Experts: 5, Active: 3, Sigmoid: sigmoid, Norm: norm})
		}
	}
	rng := rand.New(rand.NewPCG(11, 12))
	for range 35 {
		z = append(z, 2*rng.NormFloat64())
	}
	return list, z, []float64{0.9, -0.7, 0, 0.35, -0.2}
}

// The experts with the largest sums of probability and bias get gates, which are probabilities without the bias.
func TestBiasedGates(t *testing.T) {
	p := kernel.NewPool(2)
	list, z, bias := routings()
	for _, r := range list {
		y, without := make([]float64, len(z)), make([]float64, len(z))
		Gates(p, r, y, z, bias)
		Gates(p, r, without, z, nil)
		if slices.Equal(y, without) {
			t.Errorf("%+v: the bias changes no choice", r)
		}
		for i := 0; i < len(z); i += r.Experts {
			probabilities := scores(r, z[i:i+r.Experts])
			order := []int{0, 1, 2, 3, 4}
			slices.SortFunc(
				order, func(a, b int) int { return cmp.Compare(probabilities[b]+bias[b], probabilities[a]+bias[a]) },
			)
			sum := 0.0
			for _, e := range order[:r.Active] {
				sum += probabilities[e]
			}
			for place, e := range order {
				want := 0.0
				if place < r.Active {
					if want = probabilities[e]; r.Norm {
						want /= sum
					}
				}
				if got := y[i+e]; !(math.Abs(got-want) <= 1e-14) {
					t.Errorf("%+v: token %d, expert %d: got gate %v, want %v", r, i/r.Experts, e, got, want)
				}
			}
		}
	}
}

// The gradients of the gates and of the loss that balances experts are their derivatives, and the loss is E·Σ f_e·P_e.
func TestRouterBackward(t *testing.T) {
	p := kernel.NewPool(2)
	list, z, bias := routings()
	dy := kerneltest.Random[float64](rand.New(rand.NewPCG(3, 3)), len(z))
	for _, r := range list {
		y, dz, db := make([]float64, len(z)), make([]float64, len(z)), make([]float64, len(z))
		Gates(p, r, y, z, bias)
		GatesBackward(p, r, dz, dy, y, z)
		BalanceBackward(r, db, 0.7, z, y)
		gates := func() (sum float64) {
			out := make([]float64, len(z))
			Gates(p, r, out, z, bias)
			for i, v := range out {
				sum += v * dy[i]
			}
			return sum
		}
		loss := func() float64 { return 0.7 * Balance(r, z, y) }
		for what, c := range map[string]struct {
			of  func() float64
			got []float64
		}{"gates": {gates, dz}, "balance": {loss, db}} {
			for i, v := range z {
				const h = 1e-6
				z[i] = v + h
				up := c.of()
				z[i] = v - h
				down := c.of()
				z[i] = v
				if want := (up - down) / (2 * h); !(math.Abs(c.got[i]-want) <= 1e-8) {
					t.Errorf("%+v, %s: gradient of logit %d: got %v, want %v", r, what, i, c.got[i], want)
				}
			}
		}
		want, count, n := 0.0, make([]float64, 5), float64(len(z)/r.Experts)
		Load(count, y)
		for i := 0; i < len(z); i += r.Experts {
			probabilities, total := scores(r, z[i:i+r.Experts]), 0.0
			for _, v := range probabilities {
				total += v
			}
			for e, v := range probabilities {
				want += 5 * count[e] / n * v / total / n
			}
		}
		if got := Balance(r, z, y); !(math.Abs(got-want) <= 1e-14) {
			t.Errorf("%+v: got loss %v, want %v", r, got, want)
		}
		if sum := count[0] + count[1] + count[2] + count[3] + count[4]; sum != float64(r.Active)*n {
			t.Errorf("%+v: got %v choices of %v tokens", r, sum, n)
		}
	}
}
