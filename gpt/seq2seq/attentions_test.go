package seq2seq

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// withAttention returns small with the named attention of the encoder, and pairs for it.
func withAttention(name string) (Config, []Pair) {
	c := small()
	c.Attention = name
	if name == "window" {
		c.Options.Set("window", 2)
	}
	pairs := []Pair{{[]int{4, 5, 6, 7}, []int{5, 6, 4, 9, 8}}, {[]int{8, 4}, []int{9, 5, 5, 6, 4}}}
	if name == "linformer" {
		pairs[0].Source, pairs[1].Source = []int{4, 5, 6, 7, 8}, []int{8, 4, 4, 5, 6}
	}
	return c, pairs
}

// shake moves the parameters away from their initial values, in the same way for the same names.
func shake(m *Model) {
	for _, p := range m.Params() {
		rng := rand.New(rand.NewPCG(7, uint64(p.Tensor().Len())))
		for i := range p.Tensor().Len() {
			p.Tensor().Set(i, p.Tensor().At(i)+0.3*rng.NormFloat64())
		}
	}
}

// Every attention of the encoder gives the same loss and gradients with and without kernels.
func TestEncoderAttentionKernels(t *testing.T) {
	for _, v := range attentions(nil) {
		c, pairs := withAttention(v.String())
		var loss [2]float64
		var gradients [2]map[string]graph.Tensor
		for i, kernels := range []bool{false, true} {
			var m *Model
			var p *graph.Program
			if _, err := graph.Build(graph.Float64, 5, func(g *graph.Graph) (err error) {
				g.Kernels = kernels
				if m, err = New(g, c, 2); err != nil {
					return err
				}
				p, err = graph.Compile(m.Loss, m.Params()...)
				return err
			}); err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			shake(m)
			if err := m.Fill(pairs); err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			loss[i], gradients[i] = p.Loss(), map[string]graph.Tensor{}
			for _, x := range m.Params() {
				gradients[i][x.Name()] = p.Grad(x).Clone()
			}
		}
		if !(math.Abs(loss[0]-loss[1]) <= 1e-12) {
			t.Errorf("%s: the loss is %v without kernels, %v with", v.Name, loss[0], loss[1])
		}
		some := 0.0
		for name, spelled := range gradients[0] {
			for i := range spelled.Len() {
				a, b := spelled.At(i), gradients[1][name].At(i)
				if !(math.Abs(a-b) <= 1e-12) {
					t.Fatalf("%s: gradient %d of %s is %v without kernels, %v with", v.Name, i, name, a, b)
				}
				if strings.HasPrefix(name, "encoder.h.0.attn") {
					some = max(some, math.Abs(a))
				}
			}
		}
		if !(some > 1e-4) {
			t.Errorf("%s: the largest gradient of the attention is %v", v.Name, some)
		}
	}
}

// The Translator's logits equal those of the full pass, and training learns.
func TestEncoderAttention(t *testing.T) {
	for _, v := range attentions(nil) {
		c, pairs := withAttention(v.String())
		g := graph.New(graph.Float64, 5)
		m, err := New(g, c, 2)
		if err != nil {
			t.Fatal(err)
		}
		shake(m)
		if err := m.Fill(pairs); err != nil {
			t.Fatal(err)
		}
		p, err := graph.Compile(m.Logits)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		w, err := NewTranslator(m, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Read([][]int{pairs[0].Source, pairs[1].Source}); err != nil {
			t.Fatal(err)
		}
		for at := range 6 {
			tokens := []int{m.Input.Ints()[at], m.Input.Ints()[c.TargetSize+at]}
			got, err := w.Step(tokens)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				for j := range c.TargetVocab {
					a, b := got.Row(i).At(j), p.Value().Row(i*c.TargetSize+at).At(j)
					if !(math.Abs(a-b) <= 1e-12) {
						t.Fatalf("%s: source %d, token %d: logit %d is %v, in one pass %v", v.Name, i, at, j, a, b)
					}
				}
			}
		}
		tr, err := NewTrainer(c, list(pairs))
		if err != nil {
			t.Fatal(err)
		}
		if losses := steps(t, tr, 30); !(losses[29] < 0.8*losses[0]) {
			t.Errorf("%s: the loss goes from %v to %v", v.Name, losses[0], losses[29])
		}
	}
}

// A window is equally wide on either side and excludes padding; padding itself sees the last token.
func TestWindow(t *testing.T) {
	v := near{2, []int{4, 2}}
	for b, want := range []string{"11000 11100 01110 00110 00010", "11000 11000 01000 01000 01000"} {
		var got strings.Builder
		for i := range 5 {
			if i > 0 {
				got.WriteByte(' ')
			}
			for j := range 5 {
				got.WriteString(map[bool]string{true: "1", false: "0"}[v.Visible(b, i, j)])
			}
		}
		if got.String() != want {
			t.Errorf("sequence %d: got %s, want %s", b, got.String(), want)
		}
	}
	if v := (near{1, []int{3}}); !v.Visible(0, 3, 2) || v.Visible(0, 3, 3) {
		t.Error("the first token of the padding sees itself instead of the last token")
	}
	c := small()
	c.Options.Set("window", 3)
	if sees := nearby(c.Stack, []int{5}); !sees.Visible(0, 0, 2) || sees.Visible(0, 0, 3) {
		t.Errorf("window 3: got %+v, want 2 on either side", sees)
	}
}

// Mixtures of keys require sources without padding.
func TestLinformerRefusesPadding(t *testing.T) {
	c, pairs := withAttention("linformer")
	short := append(list(pairs), Pair{[]int{4, 5}, []int{6}})
	want := "pair 2: the source has 2 tokens, source_size is 5: with attention linformer all have this length, " +
		"without padding"
	if _, err := NewTrainer(c, short); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	m, err := New(graph.New(graph.Float32, 1), c, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Fill(short); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
}
