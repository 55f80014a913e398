package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
)

// shape is a configuration as a fuzzer changes it: sizes and choices of a byte each.
type shape struct {
	context, vocabulary, blocks, heads, features, qk, values, inner, batch byte
	norm, activation, flags, rank, targets, eps, drop                      byte
	position, attention, window                                            byte
	seed                                                                   uint64
}

// config keeps the sizes small and everything in the range that a configuration allows.
func (s shape) config() (c gpt.Config, batch int, sum bool) {
	upTo := func(b byte, n int) int { return 1 + int(b)%n }
	flag := func(i int) bool { return s.flags>>i&1 == 1 }
	c.BlockSize, c.VocabSize, c.Head = upTo(s.context, 9), 1+upTo(s.vocabulary, 16), []string{"linear", "tied"}[s.flags>>1&1]
	norms := parts.Names(parts.Norms())
	c.Stack = parts.Stack{
		NLayer: upTo(s.blocks, 3), NHead: upTo(s.heads, 4),
		QKSize: upTo(s.qk, 7), VSize: upTo(s.values, 7), NInner: upTo(s.inner, 17), NEmbd: 1 + upTo(s.features, 12),
		Bias:       flag(0),
		Block:      []string{"pre", "post", "pre", "post", "elman"}[s.norm%5],
		Norm:       norms[int(s.norm/5)%len(norms)],
		Position:   []string{"learned", "sinusoidal", "rope", "alibi", "none"}[s.position%5],
		Activation: []string{"gelu", "gelu_tanh", "relu"}[s.activation%3],
		Eps:        []float64{1e-5, 1e-3, 0.1}[s.eps%3],
		Dropout:    []float64{0, 0.1, 0.5}[s.drop%3],
	}
	c.RopeTheta = []float64{0, 50}[s.position/5%2]
	c.Options.Set("window", upTo(s.window, c.BlockSize))
	c.Options.Set("random_keys", int(s.window/16)%2)
	c.Options.Set("global_tokens", int(s.window/32)%2)
	c.Options.Set("dilation", upTo(s.drop, min(3, c.BlockSize)))
	all := slices.DeleteFunc(parts.Attentions(), func(a parts.Attention) bool { return a.Name == "linformer" }) // not causal
	own := all[int(s.attention)%len(all)]
	c.Attention = string(own.Name)
	latent := strings.HasPrefix(c.Attention, "mla")
	if latent {
		c.Options.Set("latent_size", upTo(s.window, 5))
		c.Options.Set("q_latent_size", upTo(s.window/8, 5))
		c.Options.Set("rope_size", 2*upTo(s.window/32, 2))
	}
	switch c.Position {
	case "sinusoidal":
		c.NEmbd += c.NEmbd % 2
	case "rope":
		c.QKSize += c.QKSize % 2
	}
	if c.Norm == "layernorm_sigma" && (c.Dropout > 0 || c.NEmbd < 4) {
		c.Norm = "layernorm" // a row of equal numbers has no derivative (erratum C3)
	}
	if c.Block == "elman" { // it has none of these
		c.Attention, c.Norm, c.Activation = "", "", ""
		if c.Position == "rope" || c.Position == "alibi" {
			c.Position = "none"
		}
	} else if own.Check != nil && own.Check(c.Dims(1, c.BlockSize), c.Resolved().Stack) != nil {
		c.Position = "none" // with which every attention can be
	}
	if s.rank%3 > 0 {
		c.LoraR, c.LoraScale = upTo(s.rank/3, 5), []string{"alpha", "alpha/r"}[s.rank/128]
		if flag(2) {
			c.LoraAlpha = 1.5
		}
		for i, target := range []string{"c_attn", "attn.c_proj", "c_fc", "mlp.c_proj", "lm_head"} {
			if !latent && c.Block != "elman" && s.targets>>i&1 == 1 && (target != "lm_head" || c.Head != "tied") {
				c.LoraTargets = append(c.LoraTargets, target)
			}
		}
	}
	return c, upTo(s.batch, 3), flag(3)
}

// check builds, runs and verifies; the complex step looks along a random direction and at few entries.
func (f shape) check(t *testing.T) (worst Gap) {
	t.Helper()
	c, batch, sum := f.config()
	m, err := NewModel(c, batch, f.seed)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	m.Sum = sum
	s := m.subject()
	plan, roads, err := evaluate(s)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	r, err := compare(s, plan, roads, sampling{few: 1})
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	if !r.OK() || r.Parameters != m.Count() {
		t.Errorf("%+v, batch %d, seed %d: %d of %d parameters, %v, %s", c, batch, f.seed, r.Parameters, m.Count(), r.Failures, r.First)
	}
	return r.Worst
}

// FuzzModel verifies every gradient of models of any shape.
func FuzzModel(f *testing.F) {
	add := func(s shape) {
		f.Add(s.context, s.vocabulary, s.blocks, s.heads, s.features, s.qk, s.values, s.inner, s.batch,
			s.norm, s.activation, s.flags, s.rank, s.targets, s.eps, s.drop, s.position, s.attention, s.window, s.seed)
	}
	add(shape{})
	add(shape{5, 9, 1, 1, 6, 2, 4, 12, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1})
	add(shape{5, 9, 1, 1, 6, 2, 4, 12, 1, 1, 1, 14, 131, 31, 1, 1, 2, 7, 3, 2})
	f.Fuzz(func(t *testing.T, context, vocabulary, blocks, heads, features, qk, values, inner, batch,
		norm, activation, flags, rank, targets, eps, drop, position, attention, window byte, seed uint64) {
		shape{context, vocabulary, blocks, heads, features, qk, values, inner, batch,
			norm, activation, flags, rank, targets, eps, drop, position, attention, window, seed}.check(t)
	})
}

// pairs are the choices of a configuration, two by two.
func pairs(c gpt.Config, sum bool) (list []string) {
	choices := []string{
		c.Attention, "position " + c.Position, c.Norm, c.Activation, c.Block, c.Head, fmt.Sprint("sum ", sum),
		fmt.Sprint("bias ", c.Bias), fmt.Sprint("dropout ", c.Dropout > 0), fmt.Sprint("adapters ", c.LoraR > 0),
	}
	for i, a := range choices {
		for _, b := range choices[:i] {
			list = append(list, a+", "+b)
		}
	}
	return list
}

// Of many of them, the same each time, those that bring two choices together for the first time: every pair that three
// thousand models have.
func TestRandomModels(t *testing.T) {
	t.Parallel()
	draws := 3000
	if testing.Short() {
		draws = 25
	}
	rng := rand.New(rand.NewPCG(17, 4))
	b := func() byte { return byte(rng.Uint32()) }
	var worst Gap
	count, seen := 0, map[string]bool{}
	for range draws {
		s := shape{b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), rng.Uint64()}
		c, _, sum := s.config()
		before := len(seen)
		for _, pair := range pairs(c, sum) {
			seen[pair] = true
		}
		if len(seen) > before {
			worst = max(worst, s.check(t))
			count++
		}
	}
	t.Logf("%d models of %d pairs: %.1e", count, len(seen), worst)
}
