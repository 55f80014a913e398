package verify_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// translator returns an encoder–decoder of one block on either side, all sizes different.
func translator(change ...func(*seq2seq.Config)) seq2seq.Config {
	var c seq2seq.Config
	c.SourceSize, c.TargetSize, c.SourceVocab, c.TargetVocab = 4, 3, 7, 6
	c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner, c.Bias = 1, 2, 4, 2, 3, 5, true
	for _, f := range change {
		f(&c)
	}
	return c
}

// Encoder–decoders with each part changed once, and some parts together, have the gradients by hand. With NIGHTLY=1 the
// complex step takes every entry.
func TestCheckPairs(t *testing.T) {
	type change = func(*seq2seq.Config)
	attention := func(name string) change {
		return func(c *seq2seq.Config) {
			c.Attention = name
			c.Options.Offer("window", 3)
			c.Options.Offer("mixed_keys", 3)
		}
	}
	position := func(name string) change { return func(c *seq2seq.Config) { c.Position = name } }
	norm := func(name string) change { return func(c *seq2seq.Config) { c.Norm = name } }
	activation := func(name string) change { return func(c *seq2seq.Config) { c.Activation = name } }
	conv := func(name string) change { return func(c *seq2seq.Config) { c.With.Set("short_conv", name) } }
	gated := func(c *seq2seq.Config) { c.MLP = "swiglu" }
	post := func(c *seq2seq.Config) { c.Block = "post" }
	dropout := func(c *seq2seq.Config) { c.Dropout = 0.3 }
	unbiased := func(c *seq2seq.Config) { c.Bias = false }
	two := func(c *seq2seq.Config) { c.NLayer = 2 }
	tests := map[string][]change{
		"default": nil, "post": {post}, "dropout": {dropout}, "without biases": {unbiased}, "two blocks": {two},
		"two blocks, post, dropout":          {two, post, dropout},
		"no positions, relu, without biases": {position("none"), activation("relu"), unbiased},
		"rope, window, post, dropout":        {position("rope"), attention("window"), post, dropout},
		"alibi, window, dropout":             {position("alibi"), attention("window"), dropout},
		"linear, sinusoidal, post, dropout":  {attention("linear"), position("sinusoidal"), post, dropout},
		"taylor, rope, ε beside σ":           {attention("taylor"), position("rope"), norm("layernorm_sigma")},
		"linformer, post, plain, dropout":    {attention("linformer"), post, norm("layernorm_plain"), dropout},
		"alibi, post, gelu by tanh":          {position("alibi"), post, activation("gelu_tanh")},
		"hyper-connections, two blocks": {
			func(c *seq2seq.Config) { c.With.Set("hyper_connections", "mhc") }, two,
		},
		"value residual, two blocks, post": {
			func(c *seq2seq.Config) { c.With.Set("value_residual", "learned") }, two, post,
		},
		"value residual, two blocks, linformer": {
			func(c *seq2seq.Config) { c.With.Set("value_residual", "learned") }, two, attention("linformer"),
		},
		"embedding skips, two blocks":    {func(c *seq2seq.Config) { c.With.Set("skips", "embedding") }, two},
		"a u, two blocks, post":          {func(c *seq2seq.Config) { c.With.Set("skips", "unet") }, two, post},
		"convolutions, post, dropout":    {conv("canon_abcd"), post, dropout},
		"convolved keys, linear, swiglu": {conv("qkv"), attention("linear"), gated},
		"rms norm, swiglu, dropout":      {norm("rmsnorm"), gated, dropout},
		"rope at another base, two blocks, of which the second has none": {position("rope"), two,
			func(c *seq2seq.Config) {
				c.Rope.Theta = 50
				c.Rope.NoRopeLayerInterval = 2
			}},
		"rope of half a head, experts, rms norm": {position("rope"), norm("rmsnorm"), func(c *seq2seq.Config) {
			c.QKSize, c.Rope.PartialRotaryFactor, c.MLP = 4, 0.5, "moe"
			c.Experts.NumExperts, c.Experts.RouterAuxLossCoef = 3, 0.1
		}},
	}
	for _, name := range []string{"window", "linear", "taylor", "linformer"} {
		tests["attention "+name] = []change{attention(name)}
	}
	for _, name := range parts.Names(parts.Positions())[1:] {
		tests["position "+name] = []change{position(name)}
	}
	for _, name := range parts.Names(parts.Norms())[1:] {
		tests["norm "+name] = []change{norm(name)}
	}
	for _, name := range parts.Names(parts.Activations())[1:] {
		tests["activation "+name] = []change{activation(name)}
	}
	for name, changes := range tests {
		t.Run(name, func(t *testing.T) {
			if len(changes) < 2 && os.Getenv("NIGHTLY") == "" || testing.Short() && len(changes) < 3 {
				t.Skip("in combinations alone, but for NIGHTLY")
			}
			m, err := verify.NewPairs(translator(changes...), 2, 1)
			if err != nil {
				t.Fatal(err)
			}
			check := verify.CheckAlong
			if os.Getenv("NIGHTLY") != "" {
				check = verify.Check
			}
			r, err := check(m)
			if err != nil {
				t.Fatalf("%+v", err)
			}
			if !r.OK() || !(r.Worst <= verify.Suspicion) || !(r.Direction <= verify.Suspicion) ||
				!(r.WorstFloat32 <= verify.ToleranceFloat32) {
				t.Errorf(
					"worst %.1e, float32 %.1e; %s\n%s", r.Worst, r.WorstFloat32, r.First,
					strings.Join(r.Failures, "\n"),
				)
			}
			t.Logf("%d parameters in %d rows: %.1e", r.Parameters, len(r.Rows), r.Worst)
		})
	}
}

// The pairs have different lengths, except for Linformer's sources, and no padding in the middle.
func TestNewPairs(t *testing.T) {
	for _, attention := range []string{"full", "linformer"} {
		c := translator(func(c *seq2seq.Config) { c.Attention = attention })
		m, err := verify.NewPairs(c, 5, 1)
		if err != nil {
			t.Fatal(err)
		}
		lengths := map[int]bool{}
		for _, p := range m.Pairs {
			lengths[len(p.Source)] = true
			if slices.Contains(append(p.Source, p.Target...), seq2seq.Pad) {
				t.Errorf("%s: padding in %v", attention, p)
			}
		}
		if len(lengths) > 1 != (attention == "full") || len(m.Pairs[0].Source) != c.SourceSize ||
			len(m.Pairs[0].Target) != c.TargetSize-1 {
			t.Errorf("%s: sources of %d lengths, first pair %v", attention, len(lengths), m.Pairs[0])
		}
	}
}

// An impossible model, pairs that do not fit and missing parameters are errors.
func TestCheckPairsRefuses(t *testing.T) {
	if _, err := verify.NewPairs(translator(func(c *seq2seq.Config) { c.NHead = 0 }), 2, 1); err == nil ||
		!strings.Contains(err.Error(), "n_head") {
		t.Errorf("no heads: got error %v", err)
	}
	m, err := verify.NewPairs(translator(), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	kept := m.Pairs[1]
	m.Pairs[1].Source = make([]int, 6)
	if _, err := verify.Check(m); err == nil || !strings.Contains(err.Error(), "pair 1: the source has 6 tokens") {
		t.Errorf("a source too long: got error %v", err)
	}
	m.Pairs[1] = kept
	delete(m.Parameters, "decoder.h.0.cross.c_q.bias")
	if _, err := verify.Check(m); !errors.Is(err, verify.ErrCoverage) {
		t.Errorf("a parameter missing: got error %v, want ErrCoverage", err)
	}
}

// A model of pairs is checked like a model of text.
func ExampleCheck_pairs() {
	c := seq2seq.Config{SourceSize: 5, TargetSize: 6, SourceVocab: 9, TargetVocab: 11}
	c.NLayer, c.NHead, c.NEmbd = 1, 2, 4
	c.Position = "rope"
	m, err := verify.NewPairs(c, 3, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := verify.Check(m)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.OK(), r.Parameters, "parameters;", r.Worst <= verify.Suspicion)
	// Output: true 600 parameters; true
}
