package seq2seq

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

func newModel(t *testing.T) *Model {
	t.Helper()
	m, err := New(graph.New(graph.Float32, 1), small(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// With any memory limit, a translator is refused or translates.
func TestTranslatorWithinItsMemory(t *testing.T) {
	m := newModel(t)
	var refused, made int
	for limit := int64(1 << 9); limit < 1<<22; limit += limit / 8 {
		m.Graph.SetMemoryLimit(limit)
		w, err := NewTranslator(m, 1, 2)
		if err != nil {
			refused++
			continue
		}
		made++
		if _, err := w.Greedy(t.Context(), [][]int{{5, 4, 6}}); err != nil {
			t.Errorf("a limit of %d bytes: %v", limit, err)
		}
	}
	if refused == 0 || made == 0 {
		t.Errorf("%d translators refused, %d built, want some of both", refused, made)
	}
}

// A translator keeps keys and values of all heads, the logits and tokens of each hypothesis, and the memory for
// reading a source: a limit of that size is enough, a smaller one is not.
func TestTranslatorLimit(t *testing.T) {
	m := newModel(t) // 5 → 7 tokens, 2 layers of 2 heads with 8 + 8 features, 16 wide, 64 within
	const token, read = 2 * 2 * (8 + 8), 5 + 7 + 4*16 + 2*64
	const source, beam = 5*(token+read) + 7*16, 7*token + 5 + 10 + hypothesisSize
	for _, c := range []struct{ sources, beams int }{{1, 1}, {3, 1}, {2, 5}} {
		bytes := int64(4 * c.sources * (source + c.beams*beam))
		m.Graph.SetMemoryLimit(bytes)
		if err := checkTranslator(m, c.sources, c.beams); err != nil {
			t.Errorf("%d bytes: %v", bytes, err)
		}
		m.Graph.SetMemoryLimit(bytes - 1)
		if err := checkTranslator(m, c.sources, c.beams); err == nil ||
			!strings.Contains(err.Error(), "for the keys and values of sources") {
			t.Errorf("%d bytes: got error %v", bytes-1, err)
		}
	}
}

// A batch has at least one pair and at most MaxSize, the mixed keys of a Linformer are half of the source, and the
// parameters and masks of a model may take all memory.
func TestBorders(t *testing.T) {
	for _, batch := range []int{0, field.MaxSize + 1} {
		if _, err := New(graph.New(graph.Float32, 1), small(), batch); err == nil ||
			!strings.Contains(err.Error(), "want 1 to 268435456") {
			t.Errorf("a batch of %d: got error %v", batch, err)
		}
		_, err := NewMasked(graph.New(graph.Float32, 1), small(), batch)
		mustSay(t, err, "masked: got batch_size ", "want 1 to 268435456")
	}
	for size, want := range map[int]int{1: 1, 6: 3, 7: 4, 12: 6} {
		c := small()
		c.SourceSize, c.Attention = size, "linformer"
		if got := c.Resolved().Options.Get("mixed_keys"); got != want {
			t.Errorf("%d tokens: got %d mixed keys, want %d", size, got, want)
		}
	}
	c := small()
	n, err := c.Resolved().counts()
	if err != nil {
		t.Fatal(err)
	}
	for share, refused := range map[float64]bool{1.01: false, 0.99: true} {
		c.MemoryLimit = share * 4 * (n.parameters + n.values) / (1 << 30)
		if err := c.ValidateModel(); (err != nil) != refused {
			t.Errorf("%v of the memory of parameters and masks: got error %v", share, err)
		}
	}
}

// The head of a masked model has the same initial standard deviation as other heads.
func TestMaskedHead(t *testing.T) {
	c := small()
	c.SourceVocab, c.TargetVocab, c.NEmbd = 200, 200, 64
	masked, err := NewMasked(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]*graph.Graph{"lm_head.weight": masked.Graph, "decoder.lm_head.weight": m.Graph} {
		var sum float64
		w, ok := g.Leaf(name)
		if !ok {
			t.Fatalf("no %s", name)
		}
		for _, v := range w.Tensor().Floats() {
			sum += v * v
		}
		if got := math.Sqrt(sum / float64(w.Tensor().Len())); !(got > 0.019 && got < 0.021) {
			t.Errorf("%s: a standard deviation of %v, want 0.02", name, got)
		}
	}
}

// The limit of a model is its Graph's, even if the run of its Config sets another.
func TestTheLimitIsTheGraphs(t *testing.T) {
	c := small()
	for name, build := range map[string]func(g *graph.Graph) error{
		"seq2seq": func(g *graph.Graph) error { _, err := New(g, c, 2); return err },
		"masked":  func(g *graph.Graph) error { _, err := NewMasked(g, c, 2); return err },
	} {
		g := graph.New(graph.Float32, 1)
		c.MemoryLimit = 1e-9
		if err := build(g); err != nil {
			t.Errorf("%s: the Config's limit: %v", name, err)
		}
		g = graph.New(graph.Float32, 1)
		c.MemoryLimit = 0
		g.SetMemoryLimit(1)
		mustSay(t, build(g), "for parameters and masks of n_layer")
		mustSay(t, build(nil), "graph: got nil")
	}
}

// A user-defined part that panics is an error that names it or its place.
func TestPartsThatPanic(t *testing.T) {
	broken := func(nn.Site) nn.Layer { panic("glass") }
	for want, own := range map[string]parts.Registry{
		`attention "ours": panic: glass`: {
			Attentions: []parts.Attention{
				{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { panic("glass") }},
			},
		},
		"h.0.attn: panic: glass": {
			Attentions: []parts.Attention{
				{Name: "ours", New: func(nn.Site, parts.Stack) nn.Attention { return broken }},
			},
		},
		"h.0.ln_1: panic: glass": {Norms: []parts.Norm{{Name: "ours", New: broken}}},
	} {
		c := small()
		if c.Parts = own; own.Norms != nil {
			c.Norm = "ours"
		} else {
			c.Attention = "ours"
		}
		_, err := New(graph.New(graph.Float32, 1), c, 2)
		mustSay(t, err, want)
	}
}
