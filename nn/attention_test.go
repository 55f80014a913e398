package nn

import (
	"fmt"
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// TestCausality: changing token t leaves every row before t unchanged, bit for bit, and changes row t and all later
// rows.
func TestCausality(t *testing.T) {
	d := shapes[0]
	for _, kernels := range []bool{true, false} {
		for _, double := range []bool{true, false} {
			t.Run(fmt.Sprintf("kernels=%t/float64=%t", kernels, double), func(t *testing.T) {
				dtype := graph.Float32
				if double {
					dtype = graph.Float64
				}
				g := graph.New(dtype, 3)
				g.Kernels = kernels
				x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
				y := NewBlock(newSite(g, d), causal).Forward(x)
				before := output(t, y)
				for token := range d.Context {
					changed := x.Tensor()
					saved := changed.Clone()
					for j := range d.Embd { // in the second sequence
						changed.Set((d.Context+token)*d.Embd+j, float64(j%3)-0.7)
					}
					after := output(t, y)
					for row := range d.Batch * d.Context {
						same := true
						for j := row * d.Embd; j < (row+1)*d.Embd; j++ {
							same = same && math.Float64bits(before.At(j)) == math.Float64bits(after.At(j))
						}
						if want := row < d.Context+token; same != want {
							t.Errorf("token %d changed: row %d the same: %t, want %t", token, row-d.Context, same, want)
						}
					}
					for i := range saved.Len() {
						changed.Set(i, saved.At(i))
					}
				}
			})
		}
	}
}

// TestStepEqualsForward decodes token by token with cached keys and values, and compares every row with the forward
// pass over the entire context. A second round runs on top of the first round's cache.
func TestStepEqualsForward(t *testing.T) {
	for _, rule := range []Visibility{Causal{}, Window{3}} {
		for _, d := range shapes {
			if testing.Short() && d.Context > 10 {
				continue
			}
			for name, build := range map[string]func(at Site) Cached{
				"attention":       func(at Site) Cached { return NewSelfAttention(at) },
				"block":           func(at Site) Cached { return NewBlock(at, causal) },
				"post-norm block": func(at Site) Cached { return NewPostNormBlock(at, causal) },
			} {
				t.Run(fmt.Sprintf("%s/%T/%+v", name, rule, d), func(t *testing.T) { stepEqualsForward(t, rule, d, build) })
			}
		}
	}
}

func stepEqualsForward(t *testing.T, rule Visibility, d Dims, build func(at Site) Cached) {
	g := graph.New(graph.Float64, 3)
	site := func(g *graph.Graph) Site {
		at := newSite(g, d)
		at.Mask = NewMask(g.Root().Sub("other"), d, rule)
		return at
	}
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	want := output(t, build(site(g)).Forward(x))

	caches := Caches{}
	step := func(n int) (tokens, pos graph.Expr, p *graph.Program) {
		s := g.Sibling()
		at := site(s)
		at.Caches = caches
		tokens, pos = s.Root().Value("x", graph.Const(0), d.Batch*n, d.Embd), s.Root().Ints("pos", 1, d.Context, -1)
		p, err := graph.Compile(build(at).Step(tokens, pos))
		if err != nil {
			t.Fatalf("%+v", err)
		}
		return tokens, pos, p
	}
	for range 2 { // one by one, then in blocks of n, with the rest one by one
		for _, n := range []int{1, max(1, d.Context/2)} {
			for i := 0; i < d.Context; {
				if i+n > d.Context {
					n = 1
				}
				tokens, pos, p := step(n)
				pos.Ints()[0] = i
				for b := range d.Batch {
					copy(tokens.Tensor().F64[b*n*d.Embd:(b+1)*n*d.Embd], x.Tensor().F64[(b*d.Context+i)*d.Embd:])
				}
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				for j, got := range p.Value().F64 {
					b, rest := j/(n*d.Embd), j%(n*d.Embd)
					w := want.F64[(b*d.Context+i)*d.Embd+rest]
					if !(math.Abs(got-w) <= 1e-12*max(1, math.Abs(w))) {
						t.Fatalf("sequence %d, token %d, feature %d: got %v, want %v", b, i+rest/d.Embd, rest%d.Embd, got, w)
					}
				}
				i += n
			}
		}
	}
}
