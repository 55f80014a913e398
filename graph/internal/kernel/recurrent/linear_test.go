package recurrent

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// stepByStep is the recurrence written out, and the state after the last token.
func stepByStep(l Linear[float64], x Operands[float64]) (y, states []float64) {
	y = make([]float64, l.Batch*l.Tokens*l.Heads*l.V)
	for b := range l.Batch {
		for h := range l.Heads {
			s := make([]float64, l.QK*l.V)
			for t := range l.Tokens {
				row := b*l.Tokens + t
				packed := x.QKV[row*l.Heads*(2*l.QK+l.V):]
				q, k, v := packed[h*l.QK:], packed[(l.Heads+h)*l.QK:], packed[2*l.Heads*l.QK+h*l.V:]
				beta := 1.0
				if x.Beta != nil {
					beta = x.Beta[row*l.Heads+h]
				}
				if l.Fixed {
					row = 0
				}
				for i := range s {
					switch {
					case l.Gates == 1:
						s[i] *= math.Exp(x.Gates[row*l.Heads+h])
					case l.Gates > 1:
						s[i] *= math.Exp(x.Gates[(row*l.Heads+h)*l.QK+i/l.V])
					}
				}
				for j := range l.V {
					u := v[j]
					for i := range l.QK {
						if l.Delta {
							u -= s[i*l.V+j] * k[i]
						}
					}
					out := 0.0
					for i := range l.QK {
						s[i*l.V+j] += beta * u * k[i]
						out += s[i*l.V+j] * q[i]
					}
					y[((b*l.Tokens+t)*l.Heads+h)*l.V+j] = out
				}
			}
			states = append(states, s...)
		}
	}
	return y, states
}

// draw returns operands with keys of about unit length, gates in (0, 1) and β in (0, 2).
func draw(l Linear[float64]) (x Operands[float64]) {
	rng := rand.New(rand.NewPCG(7, uint64(l.Tokens)))
	x.QKV = kerneltest.Random[float64](rng, l.Batch*l.Tokens*l.Heads*(2*l.QK+l.V))
	for i := range x.QKV {
		x.QKV[i] /= math.Sqrt(float64(l.QK))
	}
	rows := l.Batch * l.Tokens
	if l.Fixed {
		rows = 1
	}
	if l.Gates > 0 {
		x.Gates = make([]float64, rows*l.Heads*l.Gates)
		for i := range x.Gates {
			switch x.Gates[i] = math.Log(rng.Float64()) / float64(1+i%7); i / l.Gates % l.Heads {
			case 1:
				x.Gates[i] /= 16 // the products over half a chunk are mild
			case 2:
				x.Gates[i] *= 12 // the products over some tokens are not
			}
		}
	}
	x.Beta = make([]float64, l.Batch*l.Tokens*l.Heads)
	for i := range x.Beta {
		x.Beta[i] = 2 * rng.Float64()
	}
	return x
}

func forms() (list []Linear[float64]) {
	for _, tokens := range []int{1, 5, 64, 131} {
		for gates := range 3 {
			for _, delta := range []bool{false, true} {
				l := Linear[float64]{
					Batch: 2, Tokens: tokens, Heads: 3, QK: 5, V: 7, Gates: []int{0, 1, 5}[gates], Delta: delta,
				}
				list = append(list, l)
				l.Fixed = true
				if gates == 1 {
					list = append(list, l)
				}
			}
		}
	}
	return list
}

func narrow(x []float64) (y []float32) {
	for _, v := range x {
		y = append(y, float32(v))
	}
	return y
}

func widest(x []float64) (m float64) {
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// last returns the numbers of the heads at the last token of every sequence, in x (Batch·Tokens, Heads).
func last(l Linear[float64], x []float64) (list []float64) {
	for b := range l.Batch {
		list = append(list, x[((b+1)*l.Tokens-1)*l.Heads:][:l.Heads]...)
	}
	return list
}

// lengths returns the norms of states of n numbers.
func lengths(states []float64, n int) (norms []float64) {
	for s := range slices.Chunk(states, n) {
		squares := 0.0
		for _, v := range s {
			squares += v * v
		}
		norms = append(norms, math.Sqrt(squares))
	}
	return norms
}

// TestLinear compares the chunked form with the recurrence step by step, in both types, with and without a state, and
// on one thread and several.
func TestLinear(t *testing.T) {
	for _, l := range forms() {
		for _, beta := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v,%t", l, beta), func(t *testing.T) {
				x := draw(l)
				if !beta {
					x.Beta = nil
				}
				want, states := stepByStep(l, x)
				p := kernel.NewPool(2)
				y, kept := make([]float64, len(want)), make([]float64, l.KeptLen())
				state := make([]float64, l.StateLen())
				l.Forward(p, y, x, kept, state, make([]float64, l.ScratchLen(p)))
				near(t, "y", y, want, 1e-13)
				near(t, "state", state, states, 1e-13)
				norms := make([]float64, l.Batch*l.Tokens*l.Heads)
				l.Norms(p, norms, x, nil)
				near(t, "norms", last(l, norms), lengths(states, l.QK*l.V), 1e-13)
				l.Norms(p, norms, x, states)
				continued := slices.Clone(states)
				l.Forward(p, y, x, nil, continued, make([]float64, l.ScratchLen(p)))
				near(t, "norms from a state", last(l, norms), lengths(continued, l.QK*l.V), 1e-13)
				alone := kernel.NewPool(1)
				l.Forward(alone, y, x, nil, nil, make([]float64, l.ScratchLen(alone)))
				near(t, "y on one thread", y, want, 1e-13)
				l32 := Linear[float32](l)
				y32 := make([]float32, len(want))
				l32.Forward(
					p, y32, Operands[float32]{narrow(x.QKV), narrow(x.Gates), narrow(x.Beta)}, nil, nil,
					make([]float32, l32.ScratchLen(p)),
				)
				near(t, "y in float32", wide(y32), want, 1e-6)
			})
		}
	}
}

// TestLinearContinues: a text in two parts, the second from the state after the first, has the results of the whole
// text and its last state, wherever it is cut.
func TestLinearContinues(t *testing.T) {
	for _, l := range forms() {
		for _, cut := range []int{1, 40, 64, 100} {
			if cut >= l.Tokens || l.Fixed && l.Gates == 0 {
				continue
			}
			x, p := draw(l), kernel.NewPool(2)
			want, states := stepByStep(l, x)
			state := make([]float64, l.StateLen())
			for _, part := range [][2]int{{0, cut}, {cut, l.Tokens}} {
				some := l
				some.Tokens = part[1] - part[0]
				y := make([]float64, l.Batch*some.Tokens*l.Heads*l.V)
				in := Operands[float64]{tokens(l, x.QKV, part), tokens(l, x.Gates, part), tokens(l, x.Beta, part)}
				if l.Fixed {
					in.Gates = x.Gates
				}
				some.Forward(p, y, in, nil, state, make([]float64, some.ScratchLen(p)))
				near(t, fmt.Sprintf("%+v, tokens %v", l, part), y, tokens(l, want, part), 1e-13)
			}
			near(t, fmt.Sprintf("%+v, cut at %d: state", l, cut), state, states, 1e-13)
		}
	}
}

// tokens returns the numbers of a part of the tokens of every sequence.
func tokens(l Linear[float64], x []float64, part [2]int) (list []float64) {
	width := len(x) / (l.Batch * l.Tokens)
	for b := range l.Batch {
		list = append(list, x[(b*l.Tokens+part[0])*width:(b*l.Tokens+part[1])*width]...)
	}
	return list
}

// TestLinearAtTheCorners: the chunked form is the recurrence step by step for keys of no, one and equal directions, for
// tiny and huge values, and where both meet in a text. The keys of a delta rule have length 1, as in the layers.
func TestLinearAtTheCorners(t *testing.T) {
	corners := map[string]func(row, i int) float64{
		"zeros":      func(int, int) float64 { return 0 },
		"equal rows": func(_, i int) float64 { return math.Sin(float64(2 + 5*i)) },
		"rank 1":     func(row, i int) float64 { return math.Sin(float64(1+row)) * math.Sin(float64(2+5*i)) },
		"one token": func(row, i int) float64 {
			if row%40 != 3 {
				return 0
			}
			return math.Sin(float64(2 + 5*i))
		},
		"opposite": func(row, i int) float64 { return float64(1-row%2*2) * math.Sin(float64(2+5*i)) },
		"tiny":     func(row, i int) float64 { return 1e-150 * math.Sin(float64(row+5*i)) },
		"huge":     func(row, i int) float64 { return 1e100 * math.Sin(float64(row+5*i)) },
		"tiny and huge": func(row, i int) float64 {
			return math.Pow(10, float64(row%5*40-80)) * math.Sin(float64(row+5*i))
		},
	}
	for name, at := range corners {
		for _, l := range forms() {
			for _, beta := range []float64{1, 2} {
				x := draw(l)
				width := l.Heads * (2*l.QK + l.V)
				for i := range x.QKV {
					x.QKV[i] = at(i/width, i%width)
				}
				for row := range l.Batch * l.Tokens {
					for h := range l.Heads {
						unit(x.QKV[row*width+(l.Heads+h)*l.QK:][:l.QK])
						x.Beta[row*l.Heads+h] = beta
					}
				}
				want, states := stepByStep(l, x)
				p := kernel.NewPool(1)
				y, state := make([]float64, len(want)), make([]float64, l.StateLen())
				l.Forward(p, y, x, nil, state, make([]float64, l.ScratchLen(p)))
				scale := widest(x.QKV) // of what is written, of which a reflection may leave nothing
				near(t, fmt.Sprintf("%s, %+v, β %v: y", name, l, beta), append(y, scale), append(want, scale), 1e-10)
				near(
					t, fmt.Sprintf("%s, %+v, β %v: state", name, l, beta), append(state, scale), append(states, scale),
					1e-10,
				)
			}
		}
	}
}

// unit gives x the length 1, unless it is 0.
func unit(x []float64) {
	largest, squares := widest(x), 0.0
	if largest == 0 {
		return
	}
	for i := range x {
		x[i] /= largest
		squares += x[i] * x[i]
	}
	for i := range x {
		x[i] /= math.Sqrt(squares)
	}
}

// TestLinearAtTheEnds: with keys of length 1, gates at 0, near 0, near 1 and at 1, and β at 0 and 2, give finite
// results and gradients, in float32 the same as in float64: over 10,000 tokens under NIGHTLY=1. A gate near 1 is
// rounded in every token of a chunk, and reflections, which are β = 2 by the delta rule, forget nothing, also no
// rounding error.
func TestLinearAtTheEnds(t *testing.T) {
	tokens := 300
	if os.Getenv("NIGHTLY") != "" {
		tokens = 10_000
	}
	alphas := map[string][]float64{
		"0": {math.Inf(-1)}, "near 0": {-80}, "near 1": {-1e-7}, "1": {0}, "all": {0, math.Inf(-1), -80, -1e-7, -1},
	}
	for name, logs := range alphas {
		for _, beta := range [][]float64{{0}, {1}, {2}, {0, 2, 1}} {
			for _, delta := range []bool{false, true} {
				l := Linear[float64]{Batch: 1, Tokens: tokens, Heads: 1, QK: 4, V: 3, Gates: 4, Delta: delta}
				x := draw(l)
				for i := 0; i < len(x.QKV); i += 2*l.QK + l.V {
					k := x.QKV[i+l.QK:][:l.QK]
					length := math.Sqrt(k[0]*k[0] + k[1]*k[1] + k[2]*k[2] + k[3]*k[3])
					for j := range k {
						k[j] /= length
					}
				}
				for i := range x.Gates {
					x.Gates[i] = logs[i%(5*l.QK+1)%len(logs)]
				}
				for i := range x.Beta {
					x.Beta[i] = beta[i%len(beta)]
				}
				in := Operands[float32]{narrow(x.QKV), narrow(x.Gates), narrow(x.Beta)}
				what := fmt.Sprintf("α %s, β %v, delta rule %t", name, beta, delta)
				y, d := gradientsOf(l, Operands[float64]{wide(in.QKV), wide(in.Gates), wide(in.Beta)})
				y32, d32 := gradientsOf(Linear[float32](l), in)
				tolerance := 1e-6
				if reflects := delta && slices.Contains(beta, 2) && name == "1"; reflects || name == "near 1" {
					tolerance = 1e-4
				}
				near(t, what+": y", wide(y32), y, tolerance)
				near(t, what+": dqkv", wide(d32.QKV), d.QKV, 2*tolerance)
				near(t, what+": dbeta", wide(d32.Beta), d.Beta, 2*tolerance)
				near(t, what+": dgates", wide(d32.Gates), d.Gates, 2*tolerance)
			}
		}
	}
}

// gradientsOf returns the results of l, and the gradients of the sum of their products with alternating signs.
func gradientsOf[T kernel.Float](l Linear[T], x Operands[T]) (y []T, d Operands[T]) {
	p := kernel.NewPool(1)
	y = make([]T, l.Batch*l.Tokens*l.Heads*l.V)
	kept, scratch, dy := make([]T, l.KeptLen()), make([]T, l.ScratchLen(p)), make([]T, len(y))
	l.Forward(p, y, x, kept, nil, scratch)
	for i := range dy {
		dy[i] = T(1 - i%2*2)
	}
	d = Operands[T]{make([]T, len(x.QKV)), make([]T, len(x.Gates)), make([]T, len(x.Beta))}
	l.Backward(p, d, x, dy, kept, scratch)
	return y, d
}

func wide[T kernel.Float](x []T) (y []float64) {
	for _, v := range x {
		y = append(y, float64(v))
	}
	return y
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	scale := widest(want)
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= tolerance*scale) {
			t.Errorf("%s, entry %d of %d: got %v, want %v", what, i, len(got), v, want[i])
			return
		}
	}
}

// TestMildGates: a token has the scores of mild gates as long as all products from the first token on are mild.
func TestMildGates(t *testing.T) {
	for _, c := range []struct {
		gate float64
		n    int
	}{{0, 64}, {-0.8, 64}, {-1, 55}, {-4, 13}, {-60, 0}, {math.Inf(-1), 0}, {math.NaN(), 0}} {
		l := Linear[float64]{QK: 3, V: 2, Gates: 3}
		row := func(int) []float64 { return []float64{0, c.gate, -0.5} }
		each := newEach(l, 64, &arena[float64]{free: make([]float64, 1<<13)})
		if each.load(64, row); each.n != c.n {
			t.Errorf("a gate for each row, e^%v: got %d mild tokens, want %d", c.gate, each.n, c.n)
		}
		even := newEven(l, 64, &arena[float64]{free: make([]float64, 1<<13)})
		if even.load(64, func(int) []float64 { return []float64{c.gate} }); even.n != c.n {
			t.Errorf("one gate, e^%v: got %d mild tokens, want %d", c.gate, even.n, c.n)
		}
	}
}

// TestLaterTokensChangeNoBits of the results of earlier ones, also where the later gates are not mild.
func TestLaterTokensChangeNoBits(t *testing.T) {
	for _, gates := range []int{1, 5} {
		l := Linear[float64]{Batch: 1, Tokens: 64, Heads: 2, QK: 5, V: 7, Gates: gates, Delta: true}
		x := draw(l)
		before, _ := gradientsOf(l, x)
		for i := 40 * l.Heads * gates; i < len(x.Gates); i++ {
			x.Gates[i] = -70
		}
		after, _ := gradientsOf(l, x)
		if n := 40 * l.Heads * l.V; !slices.Equal(before[:n], after[:n]) {
			t.Errorf("%d gates: gates from token 40 on change the results of earlier tokens", gates)
		}
	}
}

// TestLinearBackward compares the gradients with central differences of the recurrence step by step.
func TestLinearBackward(t *testing.T) {
	for _, l := range forms() {
		t.Run(fmt.Sprintf("%+v", l), func(t *testing.T) {
			x := draw(l)
			rng := rand.New(rand.NewPCG(9, 9))
			p := kernel.NewPool(2)
			y, kept := make([]float64, l.Batch*l.Tokens*l.Heads*l.V), make([]float64, l.KeptLen())
			dy := kerneltest.Random[float64](rng, len(y))
			l.Forward(p, y, x, kept, nil, make([]float64, l.ScratchLen(p)))
			d := Operands[float64]{
				make([]float64, len(x.QKV)), make([]float64, len(x.Gates)), make([]float64, len(x.Beta)),
			}
			if l.Fixed {
				d.Gates = nil
			}
			l.Backward(p, d, x, dy, kept, make([]float64, l.ScratchLen(p)))
			loss := func() (sum float64) {
				y, _ := stepByStep(l, x)
				for i, v := range y {
					sum += v * dy[i]
				}
				return sum
			}
			for name, c := range map[string][2][]float64{
				"qkv": {x.QKV, d.QKV}, "gates": {x.Gates, d.Gates}, "beta": {x.Beta, d.Beta},
			} {
				if len(c[1]) == 0 {
					continue
				}
				scale := widest(c[1])
				v := kerneltest.Random[float64](rng, len(c[0])) // a direction, to which every entry contributes
				got := 0.0
				for i, d := range c[1] {
					got += d * v[i]
				}
				if want := slope(c[0], v, loss); !(math.Abs(got-want) <= 1e-7*max(1, scale)*
					math.Sqrt(float64(len(v)))) {
					t.Fatalf("%s along a direction: got %v, want %v", name, got, want)
				}
				for range 12 {
					i := rng.IntN(len(c[0]))
					v, h := c[0][i], 1e-5
					c[0][i] = v + h
					up := loss()
					c[0][i] = v - h
					down := loss()
					c[0][i] = v
					if want := (up - down) / (2 * h); !(math.Abs(c[1][i]-want) <= 1e-7*max(1, scale)) {
						t.Fatalf("%s %d: got %v, want %v", name, i, c[1][i], want)
					}
				}
			}
		})
	}
}

// slope returns the derivative of f along the direction v of x, by central differences.
func slope(x, v []float64, f func() float64) float64 {
	const h = 1e-6
	kept := slices.Clone(x)
	at := func(step float64) float64 {
		for i := range x {
			x[i] = kept[i] + step*v[i]
		}
		return f()
	}
	up, down := at(h), at(-h)
	copy(x, kept)
	return (up - down) / (2 * h)
}

// BenchmarkLinear measures the recurrences of 2048 tokens in nanoseconds per token, with sizes of BenchmarkAttention.
func BenchmarkLinear(b *testing.B) {
	for _, f := range []struct {
		name  string
		gates int
		delta bool
	}{{"mamba2", 1, false}, {"gla", 64, false}, {"gated_deltanet", 1, true}, {"kda", 64, true}} {
		wide := Linear[float64]{Batch: 1, Tokens: 2048, Heads: 6, QK: 64, V: 64, Gates: f.gates, Delta: f.delta}
		l, drawn := Linear[float32](wide), draw(wide)
		x := Operands[float32]{narrow(drawn.QKV), narrow(drawn.Gates), narrow(drawn.Beta)}
		d := Operands[float32]{make([]float32, len(x.QKV)), make([]float32, len(x.Gates)), make([]float32, len(x.Beta))}
		y, kept := make([]float32, l.Tokens*l.Heads*l.V), make([]float32, l.KeptLen())
		for _, threads := range []int{1, 2} {
			p := kernel.NewPool(threads)
			scratch := make([]float32, l.ScratchLen(p))
			for _, pass := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { l.Forward(p, y, x, kept, nil, scratch) }},
				{"backward", func() { l.Backward(p, d, x, y, kept, scratch) }},
			} {
				b.Run(fmt.Sprintf("%s/threads=%d/%s", f.name, threads, pass.name), func(b *testing.B) {
					l.Forward(p, y, x, kept, nil, scratch)
					for b.Loop() {
						pass.run()
					}
					b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(l.Tokens), "ns/token")
				})
			}
		}
	}
}

// TestLinearKeptLen: a state before every chunk, and a row of values for every token by the delta rule.
func TestLinearKeptLen(t *testing.T) {
	for tokens, chunks := range map[int]int{1: 1, 63: 1, 64: 1, 65: 2, 128: 2, 129: 3} {
		l := Linear[float32]{Batch: 2, Tokens: tokens, Heads: 3, QK: 5, V: 7}
		if got, want := l.KeptLen(), chunks*2*3*5*7; got != want {
			t.Errorf("%d tokens: got %d floats, want %d", tokens, got, want)
		}
		l.Delta = true
		if got, want := l.KeptLen(), chunks*2*3*5*7+2*3*tokens*7; got != want {
			t.Errorf("%d tokens by the delta rule: got %d floats, want %d", tokens, got, want)
		}
	}
}
