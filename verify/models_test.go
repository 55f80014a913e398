package verify

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// TestPlaces lists the places that both sides compute, by the kind of model.
func TestPlaces(t *testing.T) {
	pairs := func(change func(*seq2seq.Config)) func() (*built, error) {
		c := seq2seq.Config{SourceSize: 5, TargetSize: 6, SourceVocab: 9, TargetVocab: 11}
		c.NLayer, c.NHead, c.NEmbd = 2, 2, 4
		change(&c)
		m := Pairs{Config: c.Resolved(), Pairs: make([]seq2seq.Pair, 2)}
		return func() (*built, error) { return m.build(kernels64) }
	}
	model := func(change func(*gpt.Config)) func() (*built, error) {
		m := newModel(t, small(change))
		return func() (*built, error) { return m.build(kernels64) }
	}
	for name, c := range map[string]struct {
		build func() (*built, error)
		want  string
	}{
		"pre": {
			model(func(*gpt.Config) {}),
			"drop h.0 h.0.attn h.0.attn.c_attn h.0.attn.heads h.0.ln_1 h.0.ln_2 h.0.mlp.act h.0.mlp.c_fc h.1 " +
				"h.1.attn h.1.attn.c_attn h.1.attn.heads h.1.ln_1 h.1.ln_2 h.1.mlp.act h.1.mlp.c_fc lm_head ln_f",
		},
		"post": {
			model(func(c *gpt.Config) { c.Block = "post" }),
			"drop h.0 h.0.attn.c_attn h.0.attn.heads h.0.ln_1 h.0.mlp.act h.0.mlp.c_fc h.1 h.1.attn.c_attn " +
				"h.1.attn.heads h.1.ln_1 h.1.mlp.act h.1.mlp.c_fc lm_head",
		},
		"swiglu": {model(func(c *gpt.Config) {
			c.MLP = "swiglu"
			c.NLayer = 1
		}), "drop h.0 h.0.attn h.0.attn.c_attn h.0.attn.heads h.0.ln_1 h.0.ln_2 h.0.mlp.act h.0.mlp.c_fc " +
			"h.0.mlp.c_gate lm_head ln_f"},
		"elman": {model(func(c *gpt.Config) { c.Block = "elman" }), "drop h.0 h.1 lm_head"},
		"mla": {
			model(func(c *gpt.Config) { c.Attention = "mla" }),
			"drop h.0 h.0.attn h.0.attn.heads h.0.ln_2 h.0.mlp.act h.0.mlp.c_fc h.1 h.1.attn h.1.attn.heads " +
				"h.1.ln_2 h.1.mlp.act h.1.mlp.c_fc lm_head ln_f",
		},
		"longformer": {model(func(c *gpt.Config) {
			c.Attention = "longformer"
			c.Options.Set("window", 3)
			c.Options.Set("dilation", 1)
		}), "drop h.0 h.0.attn h.0.attn.heads h.0.ln_1 h.0.ln_2 h.0.mlp.act h.0.mlp.c_fc h.1 h.1.attn " +
			"h.1.attn.heads h.1.ln_1 h.1.ln_2 h.1.mlp.act h.1.mlp.c_fc lm_head ln_f"},
		"pairs": {
			pairs(func(*seq2seq.Config) {}),
			"decoder.drop decoder.h.0 decoder.h.0.attn.c_attn decoder.h.0.attn.heads decoder.h.0.mlp.act " +
				"decoder.h.0.mlp.c_fc decoder.h.1 decoder.h.1.attn.c_attn decoder.h.1.attn.heads " +
				"decoder.h.1.mlp.act decoder.h.1.mlp.c_fc decoder.lm_head decoder.ln_f encoder.drop encoder.h.0 " +
				"encoder.h.0.attn.c_attn encoder.h.0.attn.heads encoder.h.0.mlp.act encoder.h.0.mlp.c_fc " +
				"encoder.h.1 encoder.h.1.attn.c_attn encoder.h.1.attn.heads encoder.h.1.mlp.act " +
				"encoder.h.1.mlp.c_fc encoder.ln_f z",
		},
		"post pairs": {
			pairs(func(c *seq2seq.Config) { c.Block = "post" }),
			"decoder.drop decoder.h.0 decoder.h.0.attn.c_attn decoder.h.0.attn.heads decoder.h.0.mlp.act " +
				"decoder.h.0.mlp.c_fc decoder.h.1 decoder.h.1.attn.c_attn decoder.h.1.attn.heads " +
				"decoder.h.1.mlp.act decoder.h.1.mlp.c_fc decoder.lm_head encoder.drop encoder.h.0 " +
				"encoder.h.0.attn.c_attn encoder.h.0.attn.heads encoder.h.0.mlp.act encoder.h.0.mlp.c_fc " +
				"encoder.h.1 encoder.h.1.attn.c_attn encoder.h.1.attn.heads encoder.h.1.mlp.act encoder.h.1.mlp.c_fc z",
		},
	} {
		b, err := c.build()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(slices.Sorted(maps.Keys(b.places)), " "); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// A difference is described by its sequence, token, head and feature.
func TestPositions(t *testing.T) {
	m := newModel(t, small()) // two heads, q and k of 3, v of 5; 6 tokens
	for _, c := range []struct {
		name     string
		row, col int
		want     string
	}{
		{"h.0.attn.c_attn", 0, 0, "sequence 0, token 0, queries, head 0, feature 0"},
		{"h.0.attn.c_attn", 5, 5, "sequence 0, token 5, queries, head 1, feature 2"},
		{"h.0.attn.c_attn", 6, 6, "sequence 1, token 0, keys, head 0, feature 0"},
		{"h.0.attn.c_attn", 11, 11, "sequence 1, token 5, keys, head 1, feature 2"},
		{"h.1.attn.c_attn", 7, 12, "sequence 1, token 1, values, head 0, feature 0"},
		{"h.0.attn.c_attn", 1, 18, "sequence 0, token 1, values, head 1, feature 1"},
		{"h.0.attn.c_attn", 1, 21, "sequence 0, token 1, values, head 1, feature 4"},
		{"h.0.attn.heads", 2, 4, "sequence 0, token 2, head 0, feature 4"},
		{"h.0.attn.heads", 2, 7, "sequence 0, token 2, head 1, feature 2"},
		{"h.0", 8, 7, "sequence 1, token 2, feature 7"},
	} {
		if got := m.position(c.name, Difference{Row: c.row, Col: c.col}); got != c.want {
			t.Errorf("%s (%d, %d): got %s, want %s", c.name, c.row, c.col, got, c.want)
		}
	}
	m.Config.NHead = 6
	m.Config.Attention = "gqa"
	m.Config.Options.Set("n_kv_head", 2) // queries 0 … 17, keys 18 … 23, values 24 … 33
	for col, want := range map[int]string{
		17: "queries, head 5, feature 2", 18: "keys, head 0, feature 0", 23: "keys, head 1, feature 2",
		24: "values, head 0, feature 0", 33: "values, head 1, feature 4",
	} {
		if got := m.position("h.0.attn.c_attn", Difference{Col: col}); got != "sequence 0, token 0, "+want {
			t.Errorf("column %d: got %s, want %s", col, got, want)
		}
	}
	var p Pairs
	p.Config.SourceSize, p.Config.TargetSize = 5, 3
	for name, want := range map[string]string{
		"z": "pair 1, token 2, feature 4", "encoder.h.0": "pair 1, token 2, feature 4",
		"decoder.h.0": "pair 2, token 1, feature 4",
	} {
		if got := p.position(name, Difference{Row: 7, Col: 4}); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// A model's numbers are the same for the same seed and different for others. Gains are 1 ± ¼, every seventh target is
// ignored, and all words occur.
func TestNewModel(t *testing.T) {
	make := func(seed uint64) Model {
		m, err := NewModel(small(), 20, seed)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, again, other := make(1), make(1), make(2)
	if diff := cmp.Diff(m.Parameters, again.Parameters) + cmp.Diff(m.Tokens, again.Tokens) +
		cmp.Diff(m.Targets, again.Targets); diff != "" {
		t.Error(diff)
	}
	if slices.Equal(m.Tokens, other.Tokens) || slices.Equal(m.Targets, other.Targets) || m.Step == 0 {
		t.Errorf("another seed gives the same text, or the step is %d", m.Step)
	}
	words := map[int]bool{}
	for i, id := range m.Targets {
		if words[m.Tokens[i]], words[id] = true, true; (id == hand.Ignore) != (i%7 == 3) {
			t.Errorf("target %d is %d", i, id)
		}
	}
	if len(m.Tokens) != 120 || len(words) != 12 || slices.Min(m.Tokens) != 0 || slices.Max(m.Tokens) != 10 ||
		slices.Max(m.Targets) != 10 {
		t.Errorf("got %d tokens of %d words", len(m.Tokens), len(words))
	}
	for name, p := range m.Parameters {
		low, high := -0.5, 0.5
		if strings.Contains(name, "ln_") && strings.HasSuffix(name, ".weight") {
			low, high = 0.75, 1.25
		}
		if got, want := slices.Max(p.Data)-slices.Min(p.Data), high-low; slices.Min(p.Data) < low ||
			slices.Max(p.Data) > high || got < want/2 {
			t.Errorf(
				"%s: got numbers from %v to %v, want some in %v to %v", name, slices.Min(p.Data), slices.Max(p.Data),
				low, high,
			)
		}
		if slices.Equal(p.Data, other.Parameters[name].Data) {
			t.Errorf("%s is the same with another seed", name)
		}
	}
}

// Pairs have all lengths and contain all words, except those that stand for no word. The tokens of a pair and its
// targets are padded after their ends.
func TestPairsText(t *testing.T) {
	c := seq2seq.Config{SourceSize: 3, TargetSize: 4, SourceVocab: 7, TargetVocab: 6}
	c.NLayer, c.NHead, c.NEmbd = 1, 2, 4
	m, err := NewPairs(c, 60, 1)
	if err != nil {
		t.Fatal(err)
	}
	var sources, targets, said, meant []int
	for _, p := range m.Pairs {
		sources, targets = append(sources, len(p.Source)), append(targets, len(p.Target))
		said, meant = append(said, p.Source...), append(meant, p.Target...)
	}
	for want, ids := range map[[3]int][]int{{1, 3, 3}: sources, {0, 3, 4}: targets, {4, 6, 3}: said, {4, 5, 2}: meant} {
		kinds := map[int]bool{}
		for _, id := range ids {
			kinds[id] = true
		}
		if got := [3]int{slices.Min(ids), slices.Max(ids), len(kinds)}; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	m.Pairs = []seq2seq.Pair{
		{Source: []int{4, 5, 6}, Target: []int{5, 4, 5}}, {Source: []int{6}, Target: []int{4}}, {Source: []int{5}},
	}
	want := hand.Text{
		Source:  []int{4, 5, 6, 6, 0, 0, 5, 0, 0},
		Tokens:  []int{1, 5, 4, 5, 1, 4, 0, 0, 1, 0, 0, 0},
		Targets: []int{5, 4, 5, 2, 4, 2, -1, -1, 2, -1, -1, -1},
	}
	if diff := cmp.Diff(want, m.text()); diff != "" {
		t.Error(diff)
	}
}

// Random keys are read from the mask, and their number must match; other keys are refused.
func TestDrawnKeys(t *testing.T) {
	m := newModel(t, small(func(c *gpt.Config) {
		c.NLayer, c.Attention = 1, "bigbird"
		c.Options.Set("window", 1)
		c.Options.Set("random_keys", 2)
	}))
	r, err := Check(m)
	if err != nil || !r.OK() {
		t.Fatalf("got %+v, %v", r, err)
	}
	b, err := m.build(kernels64)
	if err != nil {
		t.Fatal(err)
	}
	x, ok := b.graph.Leaf("visible.mask")
	if !ok {
		t.Fatal("no mask")
	}
	for i := range x.Tensor().Len() {
		x.Tensor().Set(i, 0) // all keys are visible
	}
	if _, err := m.plan(b.graph); err == nil || !strings.Contains(
		err.Error(), "query 0 has the random keys [1 2 3 4 5], want 0 keys that do not follow it",
	) {
		t.Errorf("got %v", err)
	}
	if _, err := m.plan(graph.New(graph.Float64, 1)); err == nil || !strings.Contains(err.Error(), "no visible.mask") {
		t.Errorf("got %v", err)
	}
}

// Vectors are rows, and leading axes are merged. Numbers that do not fit a parameter are refused in both directions.
func TestMatrixShape(t *testing.T) {
	for _, c := range []struct {
		shape      []int
		rows, cols int
	}{{nil, 1, 1}, {[]int{5}, 1, 5}, {[]int{3, 4}, 3, 4}, {[]int{2, 3, 4}, 6, 4}, {[]int{2, 1, 3, 5}, 6, 5}} {
		if rows, cols := matrixShape(c.shape); rows != c.rows || cols != c.cols {
			t.Errorf("%v: got (%d, %d), want (%d, %d)", c.shape, rows, cols, c.rows, c.cols)
		}
	}
	p := graph.New(graph.Float32, 1).Root().Param("w", graph.Const(2), 3, 4)
	for _, c := range []struct {
		rows, cols int
		ok         bool
	}{{3, 4, true}, {4, 3, false}, {3, 5, false}, {2, 4, false}} {
		if err := set(
			p, hand.Parameters[float64]{"w": hand.Zeros[float64](c.rows, c.cols).Shift(0.25)},
		); (err == nil) != c.ok || c.ok && p.Tensor().At(11) != 0.25 {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if got := ParametersOf([]graph.Expr{p})["w"]; got.Rows != 3 || got.Cols != 4 || got.Data[11] != 0.25 {
		t.Errorf("got %+v", got)
	}
	if got := FromTensor(graph.Tensor{}); got.Rows != 0 || got.Data != nil {
		t.Errorf("got %+v of nothing", got)
	}
}

// A Δ with another shape than the formulas' is skipped, because it cannot be compared.
func TestDeltaOfAnotherShape(t *testing.T) {
	s, plan, roads := evaluated(t, small())
	for _, shape := range [][2]int{{12, 12}, {13, 11}} {
		roads := clone(roads)
		roads[0].deltas["lm_head"] = hand.Zeros[float64](shape[0], shape[1]).Shift(1)
		roads[0].grads["ln_f.bias"].Data[2] += 1
		r, err := compare(unwatched(), s, plan, roads, sampling{few: 1})
		if err != nil || !strings.Contains(r.First, "ln_f.bias") {
			t.Errorf("%v: got %q, %v", shape, r.First, err)
		}
	}
}
