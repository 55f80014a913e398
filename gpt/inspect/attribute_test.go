package inspect

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// What the parts add is the logit, the heads' and MLPs' what they give times the direction that the frozen norm and the
// matrices give the logit, and the biases are those of the parameters; of every model whose stream is a sum.
func TestAttribute(t *testing.T) {
	ids := []int{1, 12, 0, 7, 2}
	for name, c := range variants() {
		for _, kernels := range []bool{true, false} {
			if !kernels && c.Attention != "gqa" && c.MLP != "swiglu" {
				continue // the equations are those of the taps
			}
			m := model(t, c, kernels, 2)
			logits, parts, err := Attribute(m, tokens[:5], ids)
			if c.Block == "post" || c.Block == "elman" {
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
					if want := b.Tensor().At(id); head.Place != "logits" || !(math.Abs(head.Logit[i]-want) <= 1e-12*size) {
						t.Errorf("%s, token %d: %s adds %v, want its bias, %v", name, i, head.Place, head.Logit[i], want)
					}
				}
			}
		}
	}
}

// A head adds what is missing without it where the norm's scale does not change: of the last block, of which nothing
// goes on to another, moved so far that the change of scale is to be seen as well.
func TestAttributeIsWhatIsMissing(t *testing.T) {
	c := odd()
	m := model(t, c, true, 1)
	ids := []int{1, 12, 0, 7, 2, 5, 9}
	logits, parts, err := Attribute(m, tokens, ids)
	if err != nil {
		t.Fatal(err)
	}
	a := tap(t, m, "ln_f", "h.1", "h.1.mlp")
	stream, mlp := at(t, a, "h.1"), at(t, a, "h.1.mlp")
	w, _ := m.Graph.Leaf("ln_f.weight")
	head, _ := m.Graph.Leaf("lm_head.weight") // (d, V)
	for _, p := range parts {
		if p.Place != "h.1.mlp" {
			continue
		}
		for i, id := range ids {
			mean, variance, want := 0.0, 0.0, 0.0
			of := func(x graph.Tensor) (mean float64) {
				for j := range 10 {
					mean += x.At(i*10+j) / 10
				}
				return mean
			}
			mean = of(stream)
			for j := range 10 {
				variance += (stream.At(i*10+j) - mean) * (stream.At(i*10+j) - mean) / 10
			}
			for j := range 10 {
				want += (mlp.At(i*10+j) - of(mlp)) / math.Sqrt(variance+m.Config.Eps) * w.Tensor().At(j) * head.Tensor().At(j*13+id)
			}
			if !(math.Abs(p.Logit[i]-want) <= 1e-12*(1+math.Abs(logits[i]))) {
				t.Errorf("token %d: the MLP adds %v, want %v", i, p.Logit[i], want)
			}
		}
	}
}

func TestAttributeErrors(t *testing.T) {
	m := model(t, odd(), true, 1)
	for want, f := range map[string]func() error{
		"got 2 ids, want 3":    func() error { _, _, err := Attribute(m, tokens[:3], tokens[:2]); return err },
		"id 13 behind token 1": func() error { _, _, err := Attribute(m, tokens[:2], []int{1, 13}); return err },
		"got 0 tokens, want 1": func() error { _, _, err := Attribute(m, nil, nil); return err },
		"no model":             func() error { _, _, err := Attribute(nil, tokens, tokens); return err },
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
