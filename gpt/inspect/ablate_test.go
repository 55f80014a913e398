package inspect

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func digits(n int) (s text.Tokens) {
	for i := range n {
		s = append(s, i*i%7+i%5)
	}
	return s
}

// With nothing ablated, the loss is the model's. Without a part, it is the loss of a model in which the part is
// replaced with zero or its mean, to the bit, also in batches whose last one has rows without a block.
func TestAblate(t *testing.T) {
	for i, tc := range []struct {
		pattern string
		instead Instead
		mean    bool // whether it is replaced with its mean
		things  int
	}{
		{"h.*.attn.heads", Zero, false, 4}, {"h.*.attn.heads", Mean, true, 4}, {"h.*.attn", Mean, true, 2},
		{"h.*.mlp", Zero, false, 2},
	} {
		m, s := model(t, odd(), true, 3), digits(7*4+1+i%2*6)
		loss, without, err := Ablate(t.Context(), m, s, tc.pattern, tc.instead)
		if err != nil || len(without) != tc.things {
			t.Fatalf("%s: got %v, %v, want %d losses", tc.pattern, without, err, tc.things)
		}
		nothing := evaluated(t, m, s)
		if loss != nothing {
			t.Errorf("%s: got the loss %v of the model as it is, want %v", tc.pattern, loss, nothing)
		}
		for _, one := range without {
			e := All(m)
			if one.Head >= 0 {
				e = e.Head(one.Head)
			}
			edit := e.Zero()
			if tc.mean {
				edit = e.Mean(means(t, m, one.Place, s))
			}
			want := evaluated(t, replace(t, m, one.Place, edit), s)
			if !(math.Abs(one.Loss-want) <= 1e-13) || one.Loss == loss {
				t.Errorf("%s head %d: got the loss %v, want %v", one.Place, one.Head, one.Loss, want)
			}
		}
	}
	for want, pattern := range map[string]string{"h.9.attn": "h.9.attn", "[3 2 7 4]": "h.0.attn.q"} {
		_, _, err := Ablate(t.Context(), model(t, odd(), true, 3), digits(30), pattern, Zero)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v", pattern, err)
		}
	}
	_, _, err := Ablate(t.Context(), model(t, odd(), true, 1), digits(7), "h.*", Zero)
	if err == nil || !strings.Contains(err.Error(), "7 tokens") {
		t.Errorf("of a short text: got the error %v", err)
	}
	var none context.Context
	for want, f := range map[string]func() error{
		"got nil, want a context": func() error {
			_, _, err := Ablate(none, model(t, odd(), true, 1), digits(30), "h.*", Zero)
			return err
		},
		"and Zero or Mean": func() error {
			_, _, err := Ablate(t.Context(), model(t, odd(), true, 1), digits(30), "h.*", nil)
			return err
		},
		"got no model": func() error {
			_, _, err := Ablate(t.Context(), nil, digits(30), "h.*", Zero)
			return err
		},
		"or no text": func() error {
			_, _, err := Ablate(t.Context(), model(t, odd(), true, 1), nil, "h.*", Zero)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want %q", err, want)
		}
	}
	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("enough"))
	if _, _, err := Ablate(ended, model(t, odd(), true, 1), digits(30), "h.*", Zero); err == nil ||
		!strings.Contains(err.Error(), "enough") {
		t.Errorf("of a context that has ended: got the error %v", err)
	}
	between, end := context.WithCancelCause(t.Context())
	enough := func(float64) float64 { end(errors.New("enough")); return 0 }
	if _, _, err := Ablate(between, model(t, odd(), true, 1), digits(30), "h.*", enough); err == nil ||
		!strings.Contains(err.Error(), "enough") {
		t.Errorf("of a context that ends after the first loss: got the error %v", err)
	}
	if _, _, err := Ablate(ended, model(t, odd(), true, 1), digits(7), "h.*", Zero); err == nil ||
		!strings.Contains(err.Error(), "7 tokens") {
		t.Errorf("of a short text after the context has ended: got the error %v", err)
	}
}

// Ablating nothing leaves the loss of EvaluateAll, to the bit, for a model that is trained with dropout in batches.
func TestAblateNothing(t *testing.T) {
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize, c.Dropout = 2, 2, 8, 6, 3, 0.5
	s := digits(6*7 + 2)
	tr, err := gpt.NewTrainer(c, text.Dataset{Training: s, Validation: s}, text.Bytes{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := tr.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := Ablate(t.Context(), tr.Model, s, "h.*.attn.heads", Zero); err != nil || got != want {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// The same holds for every variant: the graph with replaceable activations computes the same bits.
func TestAblateNothingOfVariants(t *testing.T) {
	for name, c := range variants() {
		m, s := model(t, c, true, 3), digits(7*4+3)
		want := evaluated(t, m, s)
		if got, without, err := Ablate(t.Context(), m, s, "h.*", Mean); err != nil || got != want || len(without) != 2 {
			t.Errorf("%s: got %v, %v, %v, want %v", name, got, without, err, want)
		}
	}
}

// evaluated returns the loss of a model over the blocks of a text.
func evaluated(t *testing.T, m *gpt.Model, s text.Tokens) float64 {
	t.Helper()
	m.Graph.SetTraining(false)
	program, err := graph.Compile(m.Loss)
	if err != nil {
		t.Fatal(err)
	}
	var sum, n float64
	for rows, err := range text.Blocks(s, m.Tokens.Ints(), m.Targets.Ints(), m.Config.BlockSize) {
		if err != nil || program.Run() != nil {
			t.Fatal(err)
		}
		sum, n = sum+program.Loss()*float64(rows), n+float64(rows)
	}
	return sum / n
}

// means returns the mean of an activation over the blocks of s, in every row.
func means(t *testing.T, m *gpt.Model, place string, s text.Tokens) graph.Tensor {
	t.Helper()
	p, err := Tap(m, place)
	if err != nil {
		t.Fatal(err)
	}
	var sum graph.Tensor
	for i := range 4 {
		a, err := p.Run(s[i*7 : i*7+7])
		if err != nil {
			t.Fatal(err)
		}
		x := at(t, a, place)
		if i == 0 {
			sum = graph.Tensor{Shape: x.Shape, F64: make([]float64, x.Len())}
		}
		for j := range x.Len() {
			sum.F64[j] += x.At(j) / 4
		}
	}
	return sum
}

// A model whose configuration was replaced is an error, also by one without a size.
func TestReplacedConfig(t *testing.T) {
	m := model(t, odd(), true, 1)
	m.Config.BlockSize = 0
	if _, _, err := Ablate(t.Context(), m, digits(30), "h.*.mlp", Zero); err == nil {
		t.Error("Ablate: got no error")
	}
	if _, err := new(Watch).Layers(m); err == nil {
		t.Error("Layers: got no error")
	}
}
