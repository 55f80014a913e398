package inspect

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/fused"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The parts add up to the logit. The parts of heads and MLPs are their results times the direction that the frozen norm
// and the matrices give the logit, and the biases are the parameters'. This holds for every model whose stream is a
// sum.
func TestAttribute(t *testing.T) {
	ids := []int{1, 12, 0, 7, 2}
	list, rms := variants(), odd()
	rms.Norm = "rmsnorm"
	list["norm rmsnorm"] = rms
	for name, c := range list {
		for _, kernels := range []bool{true, false} {
			if !kernels && c.Attention != "gqa" && c.MLP != "swiglu" {
				continue // its equations are tested with the taps
			}
			m := model(t, c, kernels, 2)
			logits, parts, err := Attribute(m, tokens[:5], ids)
			if slices.Contains([]string{"post", "post_part", "sandwich", "elman"}, c.Block) || c.Norm == "dyt" {
				if err == nil {
					t.Errorf("%s: no error, though its stream is no sum", name)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(parts) != 1+2*(2+1+1)+2 {
				t.Errorf("%s: got %d parts", name, len(parts))
			}
			p, err := Tap(m, "logits")
			if err != nil {
				t.Fatal(err)
			}
			own, err := p.Run(tokens[:5])
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				want, sum, size := at(t, own, "logits").At(i*13+id), 0.0, 0.0
				for _, p := range parts {
					sum, size = sum+p.Logit[i], size+math.Abs(p.Logit[i])
				}
				if !(math.Abs(sum-want) <= 1e-12*size) || !(math.Abs(logits[i]-want) <= 1e-12*size) {
					t.Errorf("%s, token %d: the parts add up to %v of %v, want %v", name, i, sum, logits[i], want)
				}
				if b, ok := m.Graph.Leaf("lm_head.bias"); ok {
					head := parts[len(parts)-1]
					if want := b.Tensor().At(id); head.Place != "logits" ||
						!(math.Abs(head.Logit[i]-want) <= 1e-12*size) {
						t.Errorf(
							"%s, token %d: %s adds %v, want its bias, %v", name, i, head.Place, head.Logit[i], want,
						)
					}
				}
			}
		}
	}
}

// A part's contribution is its summand of the last stream times the direction u = (w̃∘c − mean(w̃∘c))/σ, for the column
// c of the matrix after the norm. The parts are in the last block: the heads through c_proj, its bias, and the MLP.
func TestAttributeByHand(t *testing.T) {
	m, ids := model(t, odd(), true, 1), []int{1, 12, 0, 7, 2, 5, 9}
	_, parts, err := Attribute(m, tokens, ids)
	if err != nil {
		t.Fatal(err)
	}
	leaf := func(name string) graph.Tensor {
		x, ok := m.Graph.Leaf(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		return x.Tensor()
	}
	a := tap(t, m, "h.1", "h.1.mlp", "h.1.attn.heads")
	stream, mlp, heads := at(t, a, "h.1"), at(t, a, "h.1.mlp"), at(t, a, "h.1.attn.heads")
	w, head := leaf("ln_f.weight"), leaf("lm_head.weight")
	proj, bias := leaf("h.1.attn.c_proj.weight"), leaf("h.1.attn.c_proj.bias")
	compared := 0
	for i, id := range ids {
		x, u := stream.Row(i).Floats(), make([]float64, 10)
		mean, square, along := 0.0, 0.0, 0.0
		for j := range u {
			u[j] = w.At(j) * head.At(j*13+id)
			mean, along = mean+x[j]/10, along+u[j]/10
		}
		for j := range u {
			square += (x[j] - mean) * (x[j] - mean) / 10
		}
		for j := range u {
			u[j] = (u[j] - along) / math.Sqrt(square+m.Config.Eps)
		}
		dot := func(of func(j int) float64) (sum float64) {
			for j := range u {
				sum += u[j] * of(j)
			}
			return sum
		}
		for _, p := range parts {
			var want float64
			switch {
			case p.Place == "h.1.mlp":
				want = dot(func(j int) float64 { return mlp.At(i*10 + j) })
			case p.Place == "h.1.attn":
				want = dot(bias.At)
			case p.Place == "h.1.attn.heads":
				for k := 3 * p.Head; k < 3*p.Head+3; k++ {
					want += heads.At(i*6+k) * dot(func(j int) float64 { return proj.At(k*10 + j) })
				}
			default:
				continue
			}
			if (p.Head < 0) == (p.Place == "h.1.attn.heads") {
				t.Errorf("%s: got head %d", p.Place, p.Head)
			}
			if compared++; !(math.Abs(p.Logit[i]-want) <= 1e-12*(1+math.Abs(want))) {
				t.Errorf("token %d: %s %d adds %v, want %v", i, p.Place, p.Head, p.Logit[i], want)
			}
		}
	}
	if compared != 4*7 {
		t.Errorf("%d shares compared", compared)
	}
}

func TestAttributeErrors(t *testing.T) {
	m := model(t, odd(), true, 1)
	for want, f := range map[string]func() error{
		"got 2 ids, want 3":   func() error { _, _, err := Attribute(m, tokens[:3], tokens[:2]); return err },
		"id 13 after token 1": func() error { _, _, err := Attribute(m, tokens[:2], []int{1, 13}); return err },
		"got 8 tokens, want 1 to block_size, 7": func() error {
			_, _, err := Attribute(m, make([]int, 8), make([]int, 8))
			return err
		},
		"got 0 tokens, want 1": func() error { _, _, err := Attribute(m, nil, nil); return err },
		"no model":             func() error { _, _, err := Attribute(nil, tokens, tokens); return err },
		"after token 0, want the logit": func() error { // a stream with a summand that belongs to no part
			edit := All(m).Add([]float64{1, -2, 3, -4, 5, -6, 7, -8, 9, -10})
			_, _, err := Attribute(replace(t, m, "h.0", edit), tokens, tokens)
			return err
		},
		`norm "dyt": entry 0 of ln_f`: func() error {
			c := odd()
			c.Norm = "dyt"
			_, _, err := Attribute(model(t, c, true, 1), tokens, tokens)
			return err
		},
		"the loss does not depend on it": func() error { // of a model whose last stream is replaced
			edit := func(x graph.Expr) graph.Expr {
				return x.Graph().Root().Value("x", graph.Const(1), x.Shape()...)
			}
			_, _, err := Attribute(replace(t, m, "h.1", edit), tokens, tokens)
			return err
		},
		"h.1 has 40 features, and n_embd is 10: the layers mix parallel streams": func() error { // of four streams
			c := odd()
			c.With.Set("hyper_connections", "mhc")
			_, _, err := Attribute(model(t, c, true, 1), tokens, tokens)
			return err
		},
		`block "post": its logits are no sum`: func() error {
			c := odd()
			c.Block = "post"
			_, _, err := Attribute(model(t, c, true, 1), tokens, tokens)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want it to say %q", err, want)
		}
	}
}

// The parts must add up to the logits, within the digits of the type. Nothing is dropped.
func TestAttributionCheck(t *testing.T) {
	c := odd()
	c.Dropout = 0.5
	for typ, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-9, graph.Float32: 1e-3} {
		m, err := gpt.New(graph.New(typ, 3), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		logits, parts, err := Attribute(m, tokens[:3], tokens[1:4])
		if err != nil {
			t.Fatal(err)
		}
		p, err := Tap(m, "logits")
		if err != nil {
			t.Fatal(err)
		}
		own, err := p.Run(tokens[:3])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := logits[2], at(t, own, "logits").At(2*13+tokens[3]); !(math.Abs(got-want) <= 1e-6) {
			t.Errorf("got the logit %v, want %v", got, want)
		}
		a := &attribution{}
		if err := a.build(m); err != nil {
			t.Fatal(err)
		}
		if err := a.program.Run(); err != nil {
			t.Fatal(err)
		}
		size := 1.0
		for _, p := range parts {
			size += math.Abs(p.Logit[1])
		}
		for _, by := range []float64{-0.99, 0, 0.99, -1.01, 1.01, math.NaN()} {
			changed := slices.Clone(logits)
			changed[1] += by * tolerance * size
			err := a.check(changed, parts)
			if math.Abs(by) < 1 && err != nil || !(math.Abs(by) < 1) &&
				(err == nil || !strings.Contains(err.Error(), "after token 1, want the logit")) {
				t.Errorf("off by %v tolerances: got the error %v", by, err)
			}
		}
	}
}

// odds is a user-defined attention whose heads are five columns, which two heads do not divide. The place of the heads
// exists only without the kernel.
type odds struct {
	scope graph.Scope
	proj  nn.Layer
}

func (l odds) Forward(x graph.Expr) graph.Expr {
	x = x.In(l.scope).Columns(0, 5)
	y, ok := fused.ReLU(x)
	if !ok {
		y = l.scope.Place("heads", x.ReLU())
	}
	return l.proj.Forward(y)
}

// Heads that do not divide their columns are one part, whose sum with the bias is the attention's.
func TestAttributeOddHeads(t *testing.T) {
	c := odd()
	c.Attention, c.Parts.Attentions = "odds", []parts.Attention{{
		Name: "odds", New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer {
				return odds{at.Scope, at.Affine(at.Sub("c_proj"), 5, []int{at.Embd}, true, graph.Normal(0.02))}
			}
		},
	}}
	m := model(t, c, true, 1)
	for _, p := range m.Params() {
		if strings.HasSuffix(p.Name(), ".attn.c_proj.bias") {
			p.Tensor().Fill(make([]float64, p.Tensor().Len())...)
		}
	}
	_, list, err := Attribute(m, tokens, targets)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list {
		if names = append(names, p.Place); p.Head != -1 {
			t.Errorf("%s: got head %d, want -1", p.Place, p.Head)
		}
		for i, x := range p.Logit {
			if rest := strings.HasSuffix(p.Place, ".attn"); (math.Abs(x) <= 1e-13) != rest {
				t.Errorf("%s, token %d: got %v, want 0 only of a bias of 0", p.Place, i, x)
			}
		}
	}
	if want := []string{
		"drop", "h.0.attn.heads", "h.0.attn", "h.0.mlp", "h.1.attn.heads", "h.1.attn", "h.1.mlp", "ln_f", "logits",
	}; !slices.Equal(names, want) {
		t.Errorf("got the parts %q, want %q", names, want)
	}
	_, _, err = Ablate(t.Context(), m, digits(8), "h.0.attn.heads", Zero)
	if err == nil || !strings.Contains(err.Error(), "got shape [7 5], want a matrix of 2 heads") {
		t.Errorf("ablated by heads: got the error %v", err)
	}
}

// The last norm is compared in every entry, within the digits of the type: here only the last one is off.
func TestAttributeComparesEveryEntryOfTheNorm(t *testing.T) {
	for typ, tolerance := range map[graph.Dtype]float64{graph.Float64: 1e-9, graph.Float32: 1e-3} {
		m, err := gpt.New(graph.New(typ, 3), odd(), 1)
		if err != nil {
			t.Fatal(err)
		}
		largest, norm := 0.0, at(t, tap(t, m, "ln_f"), "ln_f")
		for i := range norm.Len() {
			largest = max(largest, math.Abs(norm.At(i)))
		}
		for by, refused := range map[float64]bool{0.9: false, 1.9: true} {
			direction := make([]float64, 10)
			direction[9] = by * tolerance * largest
			_, _, err := Attribute(replace(t, m, "ln_f", All(m).Tokens(6, 7).Add(direction)), tokens, tokens)
			if err == nil && refused || err != nil && strings.Contains(err.Error(), "entry 69 of ln_f") != refused {
				t.Errorf("off by %v tolerances: got the error %v", by, err)
			}
		}
	}
}
