package verify

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/variants"
)

// shape is a configuration for a fuzzer: sizes and choices, one byte each.
type shape struct {
	context, vocabulary, blocks, heads, features, qk, values, inner, batch byte
	norm, activation, flags, rank, targets, eps, drop                      byte
	position, attention, window                                            byte
	seed                                                                   uint64
}

// config returns the configuration, with small sizes and all values in the valid range.
func (s shape) config() (c gpt.Config, batch int, sum bool) {
	upTo := func(b byte, n int) int { return 1 + int(b)%n }
	flag := func(i int) bool { return s.flags>>i&1 == 1 }
	c.BlockSize, c.VocabSize = upTo(s.context, 9), 1+upTo(s.vocabulary, 16)
	c.Head = []string{"linear", "tied"}[s.flags>>1&1]
	norms, activations, mlps := parts.Names(parts.Norms()), parts.Names(parts.Activations()), parts.Names(parts.MLPs())
	blocks := append([]string{"pre", "post"}, parts.Names(parts.Blocks())...)
	c.Stack = parts.Stack{
		NLayer: upTo(s.blocks, 3), NHead: upTo(s.heads, 4),
		QKSize: upTo(s.qk, 7), VSize: upTo(s.values, 7), NInner: upTo(s.inner, 17), NEmbd: 1 + upTo(s.features, 12),
		Bias:       flag(0),
		Block:      blocks[int(s.norm)%len(blocks)],
		Norm:       norms[int(s.norm)/len(blocks)%len(norms)],
		Position:   []string{"learned", "sinusoidal", "rope", "alibi", "none"}[s.position%5],
		Activation: activations[int(s.activation)%len(activations)],
		MLP:        mlps[int(s.activation)/len(activations)%len(mlps)],
		Eps:        []float64{1e-5, 1e-3, 0.1}[s.eps%3],
		Dropout:    []float64{0, 0.1, 0.5}[s.drop%3],
	}
	c.Rope.Theta = []float64{0, 50}[s.position/5%2]
	c.Options.Offer("window", upTo(s.window, c.BlockSize))
	c.Options.Offer("random_keys", int(s.window/16)%2)
	c.Options.Offer("global_tokens", int(s.window/32)%2)
	c.Options.Offer("sink_tokens", int(s.window/64)%2)
	c.Options.Offer("dilation", upTo(s.drop, min(3, c.BlockSize)))
	for groups := upTo(s.window/4, c.NHead); c.Options.Get("n_kv_head") == 0; groups-- {
		if c.NHead%groups == 0 {
			c.Options.Offer("n_kv_head", groups)
		}
	}
	// not causal
	all := slices.DeleteFunc(parts.Attentions(), func(a parts.Attention) bool { return a.Name == "linformer" })
	own := all[int(s.attention)%len(all)]
	if c.Attention = string(own.Name); c.Attention == "diff" {
		c.NHead += c.NHead % 2
	}
	latent := strings.HasPrefix(c.Attention, "mla")
	if latent {
		c.Options.Offer("latent_size", upTo(s.window, 5))
		c.Options.Offer("q_latent_size", upTo(s.window/8, 5))
		c.Options.Offer("rope_size", 2*upTo(s.window/32, 2))
	}
	switch c.Position {
	case "sinusoidal":
		c.NEmbd += c.NEmbd % 2
	case "rope":
		c.QKSize += c.QKSize % 2
	}
	if own.Softmax && c.Block != "elman" && flag(4) {
		c.Sublayers.AttnLogitSoftcapping = 0.5 + float64(s.window%16)
	}
	if c.Attention == "taylor" && c.QKSize == 1 {
		// unit vectors of one feature are equal or opposite, and 1 + q̂·k̂ is then a difference of equal numbers
		c.QKSize = 2
	}
	if c.Norm == "layernorm_sigma" && (c.Dropout > 0 || c.NEmbd < 4) {
		c.Norm = "layernorm" // a row of equal numbers has no derivative (erratum C3)
	}
	if c.Block == "elman" { // it has no such parts
		c.Attention, c.Norm, c.Activation, c.MLP = "", "", "", ""
		if c.Position == "rope" || c.Position == "alibi" {
			c.Position = "none"
		}
	} else if own.Check != nil && own.Check(c.Dims(1, c.BlockSize), c.Resolved().Stack) != nil {
		c.Position = "none" // which every attention allows
	}
	gated := c.MLP != "" && c.MLP != "mlp"
	if gated {
		c.Activation = ""
	}
	if s.rank%3 > 0 {
		c.LoraR, c.LoraScale = upTo(s.rank/3, 5), []string{"alpha", "alpha/r", "alpha/sqrt(r)"}[s.rank/86]
		c.LoraFused = c.LoraR > 0 && s.rank%2 > 0
		if flag(2) {
			c.LoraAlpha = 1.5
		}
		for i, target := range []string{"c_attn", "attn.c_proj", "c_fc", "mlp.c_proj", "lm_head", "c_gate"} {
			if target == "mlp.c_proj" && strings.HasPrefix(c.MLP, "moe") {
				target = "experts.1.c_proj"
			}
			if target == "c_gate" && !gated || target == "c_attn" && c.Attention == "mingru" { // which are not there
				continue
			}
			if !latent && c.Block != "elman" && s.targets>>i&1 == 1 && (target != "lm_head" || c.Head != "tied") {
				c.LoraTargets = append(c.LoraTargets, target)
			}
		}
	}
	if flag(4) {
		scaled := parts.Scaling{
			Parametrization: "mup", BaseWidth: upTo(s.inner, 17), BaseDepth: int(s.blocks/3) % 4,
			BaseHead: int(s.heads/4) % 4,
		}
		if _, err := parts.NewFactors(scaled, c.Resolved().Stack); err == nil {
			c.Scaling = scaled
		}
	}
	c = withNewerParts(c, rand.New(rand.NewPCG(s.seed, 9)))
	if c.Norm == "layernorm_sigma" && c.With.Get("xsa") == "plain" {
		c.Norm = "layernorm" // the first token sees its own value alone, of which nothing is left
	}
	return c, upTo(s.batch, 3), flag(3)
}

// withNewerParts adds about a quarter of the parts and settings that came after the first models, each if c allows it.
// The exact road needs simple fractions as constants.
func withNewerParts(c gpt.Config, rng *rand.Rand) gpt.Config {
	size := c.Resolved().QKSize
	var changes []func(c *gpt.Config)
	for _, k := range parts.Kinds() {
		if list := k.Variants()[1:]; k.Computes() {
			changes = append(changes, func(c *gpt.Config) { c.With.Set(k.Key, list[rng.IntN(len(list))].String()) })
		}
	}
	for _, change := range append(changes, []func(c *gpt.Config){
		func(c *gpt.Config) { c.Rope.Scaling, c.Rope.Factor = "linear", 1+4*rng.Float64() },
		func(c *gpt.Config) {
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "llama3", 1+4*rng.Float64(), 1+rng.IntN(99)
		},
		func(c *gpt.Config) {
			c.Rope.Scaling, c.Rope.Factor, c.Rope.Original = "yarn", 1+4*rng.Float64(), 1+rng.IntN(999)
		},
		func(c *gpt.Config) { c.Rope.PartialRotaryFactor = 2 / float64(size) },
		func(c *gpt.Config) { c.Rope.NoRopeLayerInterval = 2 },
		func(c *gpt.Config) { c.LogitCap = 0.5 + float64(rng.IntN(5))/4 },
		func(c *gpt.Config) { c.LabelSmoothing = float64(1+rng.IntN(7)) / 8 },
		func(c *gpt.Config) { c.ZLoss = float64(1+rng.IntN(9)) / 10 },
		func(c *gpt.Config) { c.FutureTokens = 2 + rng.IntN(3) },
		func(c *gpt.Config) {
			c.Experts.NumExperts, c.Experts.NumExpertsPerTok = 2+rng.IntN(4), 1+rng.IntN(2)
			c.Experts.ScoringFunc = []string{"softmax", "sigmoid"}[rng.IntN(2)]
			c.Experts.NormTopKProb = c.Experts.NumExpertsPerTok > 1 && rng.IntN(2) > 0
		},
		func(c *gpt.Config) { c.Experts.NSharedExperts = 1 + rng.IntN(2) },
		func(c *gpt.Config) { c.Experts.RouterAuxLossCoef = 0.5 },
		func(c *gpt.Config) { c.Experts.RouterBiasUpdateRate = 0.1 },
	}...) {
		next := c
		change(&next)
		// a feature over its own root mean square is ±1, without a derivative
		if next.With.Get("qk_norm") != "" && size < 3 {
			continue
		}
		if rng.IntN(4) > 0 || next.ValidateModel() != nil {
			continue
		}
		if _, err := gpt.New(graph.Outline(graph.Float64), next, 1); err == nil { // what a layer must read, it reads
			c = next
		}
	}
	return c
}

// check builds, runs and verifies the model. The complex step takes a random direction, which contains every entry, and
// the given entries of every row.
func (f shape) check(t *testing.T, look sampling) (worst Gap) {
	t.Helper()
	c, batch, sum := f.config()
	m, err := NewModel(c, batch, f.seed)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	m.Sum = sum
	s, err := m.subject()
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	plan, roads, err := evaluate(unwatched(), s)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	r, err := compare(unwatched(), s, plan, roads, look)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	if !r.OK() {
		r.loosen(t, rounding(t, s, plan, sum32(m), roads[1]), roads)
	}
	if !r.OK() || r.Parameters != m.Count() {
		t.Errorf(
			"%+v, batch %d, seed %d: %d of %d parameters, %v, %s", c, batch, f.seed, r.Parameters, m.Count(),
			r.Failures, r.First,
		)
	}
	return r.Worst
}

// sum32 returns the number of terms in the longest sum of the model, forward or backward, plus a few for the operation
// after a sum (a root, an exponential, a quotient).
func sum32(m Model) int {
	c := m.Config
	return 8 + max(len(m.Tokens), c.NEmbd, c.NInner, c.VocabSize, c.NHead*(2*c.QKSize+c.VSize), 2*c.BlockSize)
}

// rounding returns a bound on the distance of float32 from float64 in this model. It has two parts, both measured in
// float64 at eight sets of parameters, each changed by a random fraction of n·2⁻²⁴ of itself:
//
// A sum of n products that is rounded after every term is the exact sum of products that are changed by at most n·2⁻²⁴
// of themselves: float32 computes forward what exact arithmetic computes with other parameters. How much gradients and
// loss change with them is the condition of the layers. It is large where a norm divides by the deviation of numbers
// that are nearly equal, and where a bend of ReLU is next to a number.
//
// A cancellation on the way back occurs for all parameters. An example is a norm's Δ in few features, where the rest is
// ε/σ² of its terms. Its rounding shows between the kernels, autodiff and the gradients by hand, in float64 2²⁹ times
// finer. These are only a few samples, so the worst is taken as n of them.
func rounding(t *testing.T, s subject, plan variants.Plan, n int, exact *results) (worst float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.seed, 6))
	largest := Largest(exact.grads)
	for range 8 {
		changed := hand.Parameters[float64]{}
		for _, name := range slices.Sorted(maps.Keys(s.parameters)) {
			m := s.parameters[name].Scale(1)
			for i := range m.Data {
				m.Data[i] *= 1 + (2*rng.Float64()-1)*float64(n)*0x1p-24
			}
			changed[name] = m
		}
		moved := s
		moved.parameters = changed
		want := byHand(t, moved, plan).Parameters()
		apart := func(a, b hand.Parameters[float64]) (most float64) {
			for name := range a {
				most = max(most, Distance(a[name], b[name], largest).Distance)
			}
			return most
		}
		for _, f := range []form{reference, kernels64} {
			b, err := s.build(f)
			if err != nil {
				t.Fatal(err)
			}
			r, err := b.run(f, changed)
			if err != nil {
				t.Fatal(err)
			}
			change := max(apart(r.grads, exact.grads), math.Abs(r.loss-exact.loss)/max(1, math.Abs(exact.loss)))
			worst = max(worst, 2*change, float64(n)*apart(r.grads, want)*0x1p29)
		}
	}
	return worst
}

// loosen judges the report again with the tolerances that rounding explains: bound in float32, and 2⁻²⁹ of it in
// float64.
func (r *Report) loosen(t *testing.T, bound float64, roads []*results) {
	t.Helper()
	r.ToleranceFloat32, r.Tolerance = max(ToleranceFloat32, bound), max(Tolerance, bound*0x1p-29)
	r.Failures, r.Suspicious = nil, nil
	for _, road := range roads {
		r.loss(road)
	}
	if r.finish(); !(float64(r.Direction) <= r.Tolerance) {
		r.Failures = append(r.Failures, fmt.Sprintf("along a random direction: %.1e", r.Direction))
	}
	t.Logf("by rounding: %.1e in float32, tolerated %.1e", r.WorstFloat32, r.ToleranceFloat32)
}

// A mistake in float32 fails if it is larger than rounding explains.
func TestRoundingIsNoExcuse(t *testing.T) {
	s, plan, roads := evaluated(t, small())
	m := newModel(t, small())
	bound := rounding(t, s, plan, sum32(m), roads[1])
	if !(bound > 1e-7 && bound <= 1e-2) {
		t.Errorf("rounding explains %.1e, want more than 1e-7 and at most 1e-2 in a model in good condition", bound)
	}
	t.Logf("rounding explains %.1e", bound)
	roads[2].grads["wte.weight"].Data[9] += 0.05 * Largest(roads[1].grads)
	r, err := compare(unwatched(), s, plan, roads, sampling{few: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.loosen(t, bound, roads); r.OK() {
		t.Error("a wrong gradient in float32 passes")
	}
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
		s := shape{context, vocabulary, blocks, heads, features, qk, values, inner, batch,
			norm, activation, flags, rank, targets, eps, drop, position, attention, window, seed}
		fuzzed.Bounded(t, 1<<30, 5*time.Minute, func() { s.check(t, sampling{}) })
	})
}

// pairs returns the choices of a configuration, two by two.
func pairs(c gpt.Config, sum bool) (list []string) {
	choices := []string{
		c.Attention, "position " + c.Position, c.Norm, c.Activation, c.Block, c.Head, fmt.Sprint("sum ", sum),
		fmt.Sprint("bias ", c.Bias), fmt.Sprint("dropout ", c.Dropout > 0), fmt.Sprint("adapters ", c.LoraR > 0),
		"parametrization " + c.Parametrization,
		"rope_scaling " + c.Rope.Scaling,
		fmt.Sprint("part ", c.Rope.PartialRotaryFactor > 0, c.Rope.NoRopeLayerInterval),
		fmt.Sprint("caps ", c.Sublayers.AttnLogitSoftcapping > 0, c.LogitCap > 0),
		fmt.Sprint("loss ", c.LabelSmoothing > 0, c.ZLoss > 0),
		fmt.Sprint(
			"experts ", strings.HasPrefix(c.MLP, "moe"), c.Experts.ScoringFunc, c.Experts.NormTopKProb,
			c.Experts.NSharedExperts > 0, c.Experts.RouterAuxLossCoef > 0, c.Experts.RouterBiasUpdateRate > 0,
		),
	}
	for _, k := range parts.Kinds() {
		choices = append(choices, k.Key+" "+k.Get(c.Stack))
	}
	for i, a := range choices {
		for _, b := range choices[:i] {
			list = append(list, a+", "+b)
		}
	}
	return list
}

// TestRandomModels checks random models, the same ones each time. It checks those that combine two choices for the
// first time, which covers every pair of choices in three thousand models; by day, those with eight new pairs of the
// first fifteen.
func TestRandomModels(t *testing.T) {
	t.Parallel()
	draws, least, look := 15, 8, sampling{} // the fewest new pairs in a model
	if os.Getenv("NIGHTLY") != "" {
		draws, least, look = 3000, 1, sampling{few: 1}
	}
	rng := rand.New(rand.NewPCG(17, 4))
	b := func() byte { return byte(rng.Uint32()) }
	var worst Gap
	count, seen := 0, map[string]bool{}
	for range draws {
		s := shape{
			b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), b(), rng.Uint64(),
		}
		c, _, sum := s.config()
		fresh := slices.DeleteFunc(pairs(c, sum), func(pair string) bool { return seen[pair] })
		if len(fresh) < least {
			continue
		}
		for _, pair := range fresh {
			seen[pair] = true
		}
		worst = max(worst, s.check(t, look))
		count++
	}
	t.Logf("%d models of %d pairs: %.1e", count, len(seen), worst)
}
