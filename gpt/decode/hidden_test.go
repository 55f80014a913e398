package decode

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// hiddens returns the hidden values of a text.
func hiddens(t *testing.T, r *Reader, tokens []int) (rows [][]float64) {
	t.Helper()
	for h, err := range r.Hidden(t.Context(), tokens) {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, slices.Clone(h.Floats()))
	}
	return rows
}

// The hidden values of a text, read in pieces, equal the values of a forward pass over all of it, from text to text.
func TestHiddenIsForward(t *testing.T) {
	const context = 45
	n := network(t, context)
	r, err := NewReader(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{45, 1, 9, 42} {
		var tokens []int
		for i := range length {
			tokens = append(tokens, (i*i+length)%vocabulary)
		}
		var p *graph.Program
		_, err = n.Graph.BuildSibling(func(g *graph.Graph) error {
			ids := g.Root().Ints("tokens", context, vocabulary, graph.NoneIgnored)
			copy(ids.Ints(), tokens)
			l := n.Build(g.Root(), 1, parts.Places(g.Root(), 1, context), nil).(tiny)
			p, err = graph.Compile(l.Normed(l.Forward(ids)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Graph.Shared(func(r graph.Reading) error { return r.Run(p) }); err != nil {
			t.Fatal(err)
		}
		got, want := hiddens(t, r, tokens), p.Value()
		if len(got) != length {
			t.Fatalf("got %d values of %d tokens", len(got), length)
		}
		for i, h := range got {
			for j, x := range want.Row(i).Floats() {
				if !(math.Abs(h[j]-x) < 1e-12) {
					t.Errorf("%d tokens: token %d, entry %d: got %v, want %v", length, i, j, h[j], x)
				}
			}
		}
	}
}

// A reader refuses what it cannot read, and is free again after a loop that ends early.
func TestReaderRefuses(t *testing.T) {
	n := network(t, 5)
	r, err := NewReader(n)
	if err != nil {
		t.Fatal(err)
	}
	first := func(r *Reader, ctx context.Context, tokens ...int) (err error) {
		for _, err = range r.Hidden(ctx, tokens) {
			break
		}
		return err
	}
	mustContain(t, first(nil, t.Context(), 1), "want one from NewReader")
	mustContain(t, first(r, nil, 1), "context: got nil")
	mustContain(t, first(r, t.Context()), "got 0 tokens, want 1 to the context of 5")
	mustContain(t, first(r, t.Context(), 1, 2, 3, 4, 5, 6), "got 6 tokens")
	mustContain(t, first(r, t.Context(), 1, vocabulary), "token 1 is 11")
	for _, err := range r.Hidden(t.Context(), []int{1, 2}) {
		if err != nil {
			t.Fatal(err)
		}
		mustContain(t, first(r, t.Context(), 1), "in use")
		break
	}
	ended, end := context.WithCancel(t.Context())
	end()
	mustContain(t, first(r, ended, 1), "context canceled")
	if err := first(r, t.Context(), 1); err != nil {
		t.Error(err)
	}
	n.CheckMemory = func(batch, tokens int) error { return errNone }
	if _, err := NewReader(n); err == nil {
		t.Error("without memory: got no error")
	}
	n.CheckMemory, n.Graph = nil, nil
	_, err = NewReader(n)
	mustContain(t, err, "graph: got nil")
}
