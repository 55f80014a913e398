package causal_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
)

const (
	batch, tokens, width, vocabulary = 3, 7, 5, 11
)

// mixed returns a layer that adds to every row i a mixture of all rows j, with the factors weight(i, j).
func mixed(s graph.Scope, x graph.Expr, weight func(i, j int) float64) graph.Expr {
	n := x.Shape()[0]
	w := s.Value("mixture", func(i int, _ *rand.Rand) float64 { return weight(i/n, i%n) }, n, n)
	return s.Place("mix", x.Add(w.MatMul(x)))
}

// model returns an embedding and two layers, the second of which mixes.
func model(t *testing.T, dtype graph.Dtype, context int, weight func(i, j int) float64) causal.Model {
	t.Helper()
	g := graph.New(dtype, 1)
	s := g.Root()
	ids := s.Ints("tokens", batch*context, vocabulary, graph.NoneIgnored)
	x := s.Place("wte", nn.NewEmbedding(s.Sub("wte"), vocabulary, width).Forward(ids))
	x = s.Place("first", x.Tanh())
	x = s.Place("last", mixed(s.Sub("second"), x, weight).Tanh())
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	return causal.Model{Input: ids, Output: x, Batch: batch, Vocabulary: vocabulary}
}

func within(i, j, context int) bool { return i/context == j/context }

func TestCheck(t *testing.T) {
	past := func(i, j int) float64 {
		if within(i, j, tokens) && j <= i {
			return 1
		}
		return 0
	}
	also := func(when func(i, j int) bool) func(i, j int) float64 {
		return func(i, j int) float64 {
			if when(i, j) {
				return 1
			}
			return past(i, j)
		}
	}
	for name, c := range map[string]struct {
		weight    func(i, j int) float64
		want      causal.Leak
		message   string
		permitted bool // for a bidirectional model
	}{
		"causal": {weight: past, permitted: true},
		"mean of a text": {also(func(i, j int) bool { return within(i, j, tokens) }),
			causal.Leak{Layer: "second.mix", Tokens: []int{1, 2, 3, 4, 5, 6}},
			"second.mix: token 0 sees later tokens of its text, 1–6: a language model may not look ahead", true},
		"next token": {also(func(i, j int) bool {
			return within(i, j, tokens) &&
				j == i+1
		}), causal.Leak{Layer: "second.mix", Tokens: []int{1}}, "", true},
		"one pair": {also(func(i, j int) bool {
			return i == 3 &&
				j == 5
		}), causal.Leak{Layer: "second.mix", Position: 3, Tokens: []int{5}}, "", true},
		"odd tokens": {also(func(i, j int) bool {
			return within(i, j, tokens) && i == 2 &&
				j%2 == 1
		}), causal.Leak{Layer: "second.mix", Position: 2, Tokens: []int{3, 5}}, "", true},
		"another text": {also(func(i, j int) bool {
			return i == tokens+4 &&
				j == 2
		}), causal.Leak{Layer: "second.mix", Position: 4, Tokens: []int{2}, Between: true},
			"second.mix: token 4 sees another text of the batch, its tokens 2: texts must not influence one another",
			false},
	} {
		for _, dtype := range []graph.Dtype{graph.Float32, graph.Float64} {
			m := model(t, dtype, tokens, c.weight)
			err := causal.Check(m)
			var leak *causal.Leak
			switch errors.As(err, &leak); {
			case c.want.Layer == "":
				if err != nil {
					t.Errorf("%s: got %v, want none", name, err)
				}
			case leak == nil || leak.Layer != c.want.Layer || leak.Position != c.want.Position ||
				leak.Between != c.want.Between || !slices.Equal(leak.Tokens, c.want.Tokens):
				t.Errorf("%s: got %v, want %+v", name, err, c.want)
			case c.message != "" && err.Error() != c.message:
				t.Errorf("%s: got %q, want %q", name, err, c.message)
			}
			m.Bidirectional = true
			if err := causal.Check(m); (err == nil) != c.permitted {
				t.Errorf("%s, bidirectional: got %v", name, err)
			}
		}
	}
}

// In a long text some prefixes are tried, and some tokens named; the input is restored.
func TestCheckLong(t *testing.T) {
	const context = 201
	m := model(t, graph.Float32, context, func(i, j int) float64 {
		if within(i, j, context) {
			return 1
		}
		return 0
	})
	for i := range m.Input.Ints() {
		m.Input.Ints()[i] = i % 3
	}
	var leak *causal.Leak
	if err := causal.Check(m); !errors.As(err, &leak) {
		t.Fatalf("got %v, want a leak", err)
	}
	if n := len(leak.Tokens); n != 64 || leak.Tokens[0] != 1 || leak.Tokens[n-1] != context-1 ||
		!slices.IsSorted(leak.Tokens) || len(slices.Compact(slices.Clone(leak.Tokens))) != n {
		t.Errorf("got %d tokens, %v", len(leak.Tokens), leak.Tokens)
	}
	for i, id := range m.Input.Ints() {
		if id != i%3 {
			t.Fatalf("token %d is %d, want %d as before", i, id, i%3)
		}
	}
	m = model(t, graph.Float32, context, func(i, j int) float64 {
		if within(i, j, context) && (j <= i || i == context-2) {
			return 1
		}
		return 0
	})
	if err := causal.Check(m); err == nil || !strings.Contains(
		err.Error(), "token 199 sees later tokens of its text, 200:",
	) {
		t.Errorf("got %v, want the last token but one to see the last", err)
	}
}

// Layers that begin at 0 look ahead without an effect until their weights are perturbed.
func TestPerturb(t *testing.T) {
	build := func() causal.Model {
		m := model(t, graph.Float32, tokens, func(i, j int) float64 { return 0 })
		s := m.Output.Graph().Root()
		gain := s.Param("gain", graph.Const(0), width)
		all := s.Value("all", graph.Const(1), batch*tokens, batch*tokens)
		m.Output = m.Output.Add(all.MatMul(m.Output).Mul(gain))
		return m
	}
	m := build()
	if err := causal.Check(m); err != nil {
		t.Errorf("got %v, want none while the weights are 0", err)
	}
	causal.Perturb(m.Output.Graph())
	var leak *causal.Leak
	if err := causal.Check(m); !errors.As(err, &leak) || leak.Layer != "" || leak.Position != 0 {
		t.Errorf("got %v, want a leak in the output", err)
	}
	other := build()
	causal.Perturb(other.Output.Graph())
	for i, p := range other.Output.Graph().Params() {
		if want := m.Output.Graph().Params()[i]; !slices.Equal(p.Tensor().F32, want.Tensor().F32) {
			t.Errorf("%s: the noise differs from time to time", p.Name())
		}
	}
}

// Check returns an error if results cannot be compared.
func TestCheckRefuses(t *testing.T) {
	none := func(i, j int) float64 { return 0 }
	for want, change := range map[string]func(m *causal.Model){
		"not finite":                              func(m *causal.Model) { m.Output = m.Output.Log() },
		"want two expressions of the same graph":  func(m *causal.Model) { m.Input = graph.Expr{} },
		"Vocabulary: got 0":                       func(m *causal.Model) { m.Vocabulary = 0 },
		"Batch: got 2, want a divisor of the 21":  func(m *causal.Model) { m.Batch = 2 },
		"want an input declared by Scope.Ints or": func(m *causal.Model) { m.Input = m.Output },
		"Output: got shape":                       func(m *causal.Model) { m.Output = m.Output.SumAll() },
	} {
		m := model(t, graph.Float64, tokens, none)
		change(&m)
		if err := causal.Check(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	m := model(t, graph.Float64, tokens, none)
	m.Output = m.Output.Log()
	if err := causal.Check(m); !errors.Is(err, graph.ErrNotFinite) {
		t.Errorf("got %v, want graph.ErrNotFinite", err)
	}

}
