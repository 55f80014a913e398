package gpt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/nn/causal"
)

// Only blocks with a rotation depend on the base of its frequencies: with queries of 0 in block 1, the logits of two
// blocks depend on it if block 2 rotates, and not if it is left out.
func TestNoRopeLayerInterval(t *testing.T) {
	logits := func(interval int, theta float64) []float64 {
		c := tiny()
		c.VocabSize, c.NLayer, c.QKSize = 65, 2, 4
		c.Position, c.Rope.NoRopeLayerInterval, c.Rope.Theta = "rope", interval, theta
		c.Seed = 3
		m, err := New(emptyGraph(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Tokens.Ints() {
			m.Tokens.Ints()[i] = 5 * i % 65
		}
		for _, p := range m.Params() { // large scores, except in block 1
			w := p.Tensor()
			switch p.Name() {
			case "h.0.attn.c_attn.weight":
				clear(w.F32)
			case "h.1.attn.c_attn.weight":
				for i := range w.F32 {
					w.F32[i] *= 50
				}
			}
		}
		p, err := graph.Compile(m.Logits.SumAll(), m.Params()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		w, _ := m.Graph.Leaf("wte.weight")
		return p.Grad(w).Floats()
	}
	for interval, depends := range map[int]bool{0: true, 2: false} {
		if same := slices.Equal(logits(interval, 10), logits(interval, 1e6)); same == depends {
			t.Errorf("interval %d: the same gradients with two bases: %t", interval, same)
		}
	}
	for _, tc := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Rope.NoRopeLayerInterval = 1 }, "no_rope_layer_interval: got 1, want 0 or 2 to n_layer 2"},
		{func(c *Config) { c.Rope.NoRopeLayerInterval = 3 }, "no_rope_layer_interval: got 3, want 0 or 2 to n_layer 2"},
		{func(c *Config) {
			c.Rope.NoRopeLayerInterval = 2
			c.Position = "alibi"
		}, "no_rope_layer_interval: got 2, want 0 with position alibi"},
	} {
		c := tiny()
		c.VocabSize, c.NLayer, c.QKSize, c.Position = 65, 2, 4, "rope"
		tc.change(&c)
		mustContain(t, c.Validate(), tc.want)
	}
}

// Every part trains, is saved, resumes with the same bits, and becomes a config.json and a network again. Every fourth
// one, and with NIGHTLY=1 each, is tuned by adapters, which are merged. There is one block, and several of the lists.
func TestEveryPartLives(t *testing.T) {
	c := tiny()
	c.NLayer, c.QKSize, c.Bias, c.Dropout = 1, 4, true, 0.1
	for i, c := range everyPart(c) {
		if c.Seed = uint64(i); testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(fmt.Sprintf("%s %s %s %s %s", c.Position, c.Attention, c.Norm, c.Block, c.MLP), func(t *testing.T) {
			uninterrupted := newTrainer(t, c)
			steps(t, uninterrupted, 2)
			cp := saved(t, 2, files(t, uninterrupted))

			again := c
			again.Recompute = true
			second, err := Resume(again, uninterrupted.Corpus, uninterrupted.Tokenizer, cp)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(steps(t, uninterrupted, 2), steps(t, second, 2)); diff != "" {
				t.Errorf("resumed, computing again (-uninterrupted +resumed):\n%s", diff)
			}
			if fingerprint(t, uninterrupted) != fingerprint(t, second) {
				t.Error("resumed, computing again: other weights")
			}

			c.VocabSize = uninterrupted.Config().VocabSize
			hf, err := c.HuggingFace()
			if err != nil {
				t.Fatal(err)
			}
			read, err := FromHuggingFace(hf)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(networkOf(c), networkOf(read)); diff != "" {
				t.Errorf("Hugging Face's keys: -want +got:\n%s", diff)
			}
			if i%4 == 0 || os.Getenv("NIGHTLY") != "" {
				tuneAndMerge(t, c, uninterrupted)
			}
		})
	}
}

// networkOf returns the network's part of c, resolved.
func networkOf(c Config) map[string]string {
	c = c.Resolved()
	fields := map[string]string{}
	for _, f := range c.NetworkFields() {
		fields[f.Name] = f.String()
	}
	return fields
}

// tuneAndMerge checks that fine-tuning starts at the base's loss for any seed, and that the merged and saved model
// computes the same as the fine-tuned one.
func tuneAndMerge(t *testing.T, c Config, base *Trainer) {
	t.Helper()
	loss := func(trainer *Trainer) float64 {
		l, err := trainer.EvaluateAll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	c.LoraR, c.Seed, c.Dropout = 2, c.Seed+100, 0
	c.Experts.RouterAuxLossCoef = base.Config().Experts.RouterAuxLossCoef // of a training that begins
	tuned, err := fineTune(c, base.Corpus, base.Tokenizer, saved(t, base.Done, files(t, base)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := loss(tuned), loss(base); got != want {
		t.Errorf("fine-tuning starts at %v, the base is at %v", got, want)
	}
	steps(t, tuned, 2)
	after := loss(tuned)
	tuned.Model.Merge()
	plain, err := tuned.Model.Plain(c.BatchSize)
	if err != nil {
		t.Fatal(err)
	}
	list, err := plain.Files(nil)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := LoadModel(graph.New(graph.Float32, 9), saved(t, 1, list))
	if err != nil {
		t.Fatal(err)
	}
	sameWeights(t, loaded, plain)
	c.Adapters = Adapters{}
	merged, err := fineTune(c, base.Corpus, base.Tokenizer, saved(t, 1, list))
	if err != nil {
		t.Fatal(err)
	}
	if d := loss(merged) - after; !(d < 1e-5 && d > -1e-5) {
		t.Errorf("merged: the loss is %v off", d)
	}
}

// A user-defined activation and head have their names in Hugging Face's keys.
func TestOwnPartsInHuggingFace(t *testing.T) {
	c := ours()
	hf, err := c.HuggingFace()
	if err != nil {
		t.Fatal(err)
	}
	read, err := FromHuggingFace(hf, c.Parts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(networkOf(c), networkOf(read)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := FromHuggingFace(hf); err == nil {
		t.Error("without the parts: got no error")
	}
}

// Adapters of a checkpoint must be merged first, and its vocabulary must be used.
func TestFineTuneOnAdapters(t *testing.T) {
	_, tuned := fineTuned(t)
	c := tiny()
	c.LoraR = 2
	_, err := fineTune(c, tuned.Corpus, tuned.Tokenizer, saved(t, 0, files(t, tuned)))
	mustContain(t, err, "lora_r: got 2 as saved, want 0: merge its adapters first")
}

// An attention that is linear in the context has no memory that grows with its square, and neither has a model without
// attention.
func TestNoUnusedMask(t *testing.T) {
	for name, want := range map[string]bool{
		"causal": true, "window": false, "linear": false, "taylor": false, "mla": true,
	} {
		c := odd()
		c.Attention = name
		c.suit()
		if _, got := model64(t, c, true, 1).Graph.Leaf("mask"); got != want {
			t.Errorf("%s: the model has the causal mask: %t, want %t", name, got, want)
		}
	}
	c := odd()
	c.Block = "elman"
	if _, ok := model64(t, c, true, 1).Graph.Leaf("mask"); ok {
		t.Error("elman: the model has a mask")
	}
}

// combinations draws by seed valid combinations of parts, as the index of each part in its list, until they contain
// every pair of parts that can be combined. build returns the Config of one.
func combinations(seed uint64) (list [][8]int, build func([8]int) Config) {
	positions, attentions, norms, blocks := parts.Positions(), parts.Attentions(), parts.Norms(), parts.Blocks()
	activations, mlps, heads := parts.Activations(), parts.MLPs(), parts.Heads()
	build = func(at [8]int) Config {
		c := odd()
		c.QKSize, c.Attention = 4, attentions[at[1]].String()
		for name, n := range map[string]int{
			"window": 3, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1, "sink_tokens": 1,
		} {
			c.Options.Offer(name, n)
		}
		c.Position, c.Norm, c.Block = positions[at[0]].String(), norms[at[2]].String(), blocks[at[3]].String()
		c.Activation, c.Head, c.Bias = activations[at[4]].String(), heads[at[5]].String(), at[6] == 1
		c.MLP = mlps[at[7]].String()
		return c
	}
	sizes := [8]int{
		len(positions), len(attentions), len(norms), len(blocks), len(activations), len(heads), 2, len(mlps),
	}
	rng, seen := rand.New(rand.NewPCG(seed, 17)), map[[4]int]bool{}
	missing := func(at [8]int) (pairs [][4]int) {
		for i := range at {
			for j := range i {
				if p := [4]int{i, at[i], j, at[j]}; !seen[p] {
					pairs = append(pairs, p)
				}
			}
		}
		return pairs
	}
	// best draws the other parts around a pair, and returns the valid combination with the most pairs that are missing.
	best := func(i, a, j, b int) (at [8]int, most [][4]int) {
		for range 30 {
			var draw [8]int
			for k, size := range sizes {
				draw[k] = rng.IntN(size)
			}
			draw[i], draw[j] = a, b
			fresh := missing(draw)
			if c := build(draw); len(fresh) > len(most) && c.Attention != "linformer" &&
				c.planned().design.Validate(c.BlockSize) == nil {
				at, most = draw, fresh
			}
		}
		return at, most
	}
	for i := range sizes {
		for j := range i {
			for n := range sizes[i] * sizes[j] {
				a, b := n/sizes[j], n%sizes[j]
				if seen[[4]int{i, a, j, b}] {
					continue
				}
				at, fresh := best(i, a, j, b)
				if fresh == nil {
					continue
				}
				list = append(list, at)
				for _, p := range fresh {
					seen[p] = true
				}
			}
		}
	}
	return list, build
}

// In combinations with every pair of parts, the number of parameters is the counted one, no token sees a later one or
// another text, and the decoder computes, token by token, the same as a forward pass over the window. By day every
// fourth combination is tried. One block is enough to look ahead.
func TestCombinations(t *testing.T) {
	list, build := combinations(1)
	switch {
	case os.Getenv("NIGHTLY") != "":
		for seed := range uint64(40) {
			more, _ := combinations(2 + seed)
			list = append(list, more...)
		}
	case testing.Short():
		list = list[:len(list)/4]
	}
	step := 4
	if os.Getenv("NIGHTLY") != "" {
		step = 1
	}
	t.Logf("%d combinations", len(list)/step)
	for i := 0; i < len(list); i += step {
		at := list[i]
		c := build(at)
		name := fmt.Sprint(
			c.Position, " ", c.Attention, " ", c.Norm, " ", c.Block, " ", c.Activation, " ", c.MLP, " ", c.Head, " ",
			c.Bias,
		)
		m := model64(t, c, true, 1)
		built := int64(0)
		for _, p := range m.Params() {
			built += int64(p.Tensor().Len())
		}
		if got, _ := c.Count(); got != built {
			t.Errorf("%s: counted %d parameters, %d are built", name, got, built)
		}
		g := graph.New(graph.Float32, 3)
		g.Kernels = i/step%2 == 0
		ahead := m.plan.deep(1).causalModel(g, 2)
		causal.Perturb(g)
		if err := causal.Check(ahead); err != nil {
			t.Errorf("%s: kernels %t: %v", name, g.Kernels, err)
		}
		d := newDecoderOf(t, m)
		tokens := make([]int, 1+i%c.BlockSize)
		for j := range tokens {
			tokens[j] = (i*5 + j*3) % c.VocabSize
		}
		var got []float64
		for _, id := range tokens {
			got = feed(t, d, id)
		}
		want := newFull(t, m).last(t, tokens)
		if d := relative(got, want, 0); !(d < 1e-9) {
			t.Errorf("%s: after %d tokens the decoder is %v off a forward pass", name, len(tokens), d)
		}
	}
}

// Batches for training come from the training split, and batches of an evaluation from its split. With splits that have
// no token in common, training learns only one of them.
func TestSplitsAreKeptApart(t *testing.T) {
	of := func(ids ...int) (out text.Tokens) {
		for range 40 {
			out = append(out, ids...)
		}
		return out
	}
	c := tiny()
	c.Head = "linear" // a tied one learns to repeat what it sees, whatever it is
	tok, err := text.NewCharacters("abcd")
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := NewTrainer(c, text.Dataset{Training: of(0, 1), Validation: of(2, 3), Sum: "x"}, tok)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := trainer.Step(); err != nil {
			t.Fatal(err)
		}
		for _, list := range [][]int{trainer.Model.Tokens.Ints(), trainer.Model.Targets.Ints()} {
			for _, id := range list {
				if id > 1 {
					t.Fatalf("trained on the tokens %v, of which those of 2 and 3 are to validate on", list)
				}
			}
		}
	}
	e, err := trainer.Evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := trainer.EvaluateAll(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !(e.Train < 1 && e.Val > 1.5 && all > 1.5) {
		t.Errorf(
			"losses %+v and %v over all of the validation split, want below 1 where trained and above 1.5 where not", e,
			all,
		)
	}
	if trainer.Best != e.Val {
		t.Errorf("the best validation loss is %v, want %v", trainer.Best, e.Val)
	}
}

// For any sizes, options and parts, a Config is counted and checked in little memory: work for every token or pair of
// tokens would allocate for them.
func TestHostileSizesAreCheap(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	names := func(list []string) string { return list[rng.IntN(len(list))] }
	trials, limit := 150, uint64(32<<20)
	switch {
	case os.Getenv("NIGHTLY") != "":
		trials = 600
	case testing.Short():
		limit *= 2 // with the race detector, pools drop what they hold
	}
	for range trials {
		c := shakespeare65()
		c.Position = names(parts.Names(parts.Positions()))
		c.Block = names([]string{"pre", "pre", "post", "elman", "sandwich", "post_part", "parallel", "parallel_two"})
		if c.Block != "elman" {
			c.Attention = names(parts.Names(parts.Attentions()))
		}
		sizes := []*int{
			&c.NLayer, &c.NHead, &c.NEmbd, &c.BlockSize, &c.VocabSize, &c.QKSize, &c.VSize, &c.NInner, &c.LoraR,
		}
		for range 1 + rng.IntN(4) {
			*sizes[rng.IntN(len(sizes))] = []int{1, 1 << 14, field.MaxSize}[rng.IntN(3)]
		}
		for _, f := range c.OptionFields(c.known()) {
			c.Options.Offer(f.Name, []int{0, 1, 2, 1 << 14, field.MaxSize}[rng.IntN(5)])
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.Validate()
		c.Count()
		runtime.ReadMemStats(&after)
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > limit {
			t.Errorf("%+v: allocated %d bytes: %v", c.Network, allocated, err)
		}
	}
}

// The shape of a mask does not need the list of all global tokens, either.
func TestManyGlobalTokensAreCheap(t *testing.T) {
	for _, attention := range []string{"bigbird", "dilated", "longformer"} {
		c := shakespeare65()
		c.Attention, c.BlockSize = attention, field.MaxSize
		c.Options.Set("global_tokens", field.MaxSize)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustContain(t, c.Validate(), "memory: got about")
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: allocated %d bytes", attention, got)
		}
	}
}

// A deep network is counted by some of its blocks, which is exact because they repeat.
func TestCountDeep(t *testing.T) {
	block := func(c Config) int64 {
		c.NLayer = 4
		four, _ := c.Count()
		c.NLayer = 2
		two, _ := c.Count()
		return (four - two) / 2
	}
	for _, attention := range []string{"causal", "alternating", "mla"} {
		c := shakespeare65()
		c.Attention = attention
		each := block(c)
		base, _ := c.Count()
		c.NLayer = 9_004
		if got, _ := c.Count(); got != base+9_000*each {
			t.Errorf("%s: got %d parameters, want %d", attention, got, base+9_000*each)
		}
		memory := func(layers int) float64 { c := c; c.NLayer = layers; return c.Memory() }
		if got, want := (memory(9_004)-memory(4))/9_000, (memory(6)-memory(4))/2; got != want {
			t.Errorf("%s: a block needs %v bytes in a deep network and %v in one of six", attention, got, want)
		}
	}
	c := shakespeare65()
	c.Attention = "gla*2,causal,mla*40"
	count := func(layers int) int64 { c.NLayer = layers; n, _ := c.Count(); return n }
	for _, layers := range []int{300, 1_000} { // 43 blocks repeat
		if got, want := count(layers), count(43+layers%43)+int64(layers/43-1)*(count(86)-count(43)); got != want {
			t.Errorf("%s, %d blocks: got %d parameters, want %d", c.Attention, layers, got, want)
		}
	}
	declared := 0
	c = shakespeare65()
	c.NLayer, c.Attention = 9_004, "ledger"
	c.Parts.Attentions = []parts.Attention{ledger(func() int { declared++; return 1 })}
	if c.Count(); declared == 0 || declared > mostDeclared {
		t.Errorf("%d blocks were declared to count %d, want 1 … %d", declared, c.NLayer, mostDeclared)
	}
}

// ledger returns a user-defined attention with n parameters in every block.
func ledger(n func() int) parts.Attention {
	return parts.Attention{Name: "ledger", New: func(nn.Site, parts.Stack) nn.Attention {
		return func(at nn.Site) nn.Layer {
			at.Param("pages", graph.Const(0), n())
			return bare{nn.NewUnprojected(at)}
		}
	}}
}

// lateNorm declares its gain in Forward.
type lateNorm struct{ nn.Site }

func (l lateNorm) Forward(x graph.Expr) graph.Expr {
	return x.Mul(l.Param("gain", graph.Const(1), l.Embd))
}

// The parameters of a user-defined part count, and are refused if they are too large.
func TestOwnPartsAreCounted(t *testing.T) {
	with := func(n func() int) Config {
		c := odd()
		c.Attention, c.Parts.Attentions = "ledger", []parts.Attention{ledger(n)}
		return c
	}
	few, many := with(func() int { return 5 }), with(func() int { return 105 })
	a, _ := few.Count()
	b, _ := many.Count()
	if want := int64(100 * few.NLayer); b-a != want {
		t.Errorf("Count: got %d more, want %d", b-a, want)
	}
	if got, want := FLOPsPerToken(many)-FLOPsPerToken(few), float64(600*few.NLayer); got != want {
		t.Errorf("FLOPs: got %v more, want %v", got, want)
	}
	if got, want := many.Memory()-few.Memory(), float64(4*4*100*few.NLayer); got != want {
		t.Errorf("Memory: got %v more, want %v", got, want)
	}
	_, err := New(graph.New(graph.Float32, 1), with(func() int { return 1 << 35 }), 1)
	mustContain(t, err, "memory: got about 256 GiB for parameters")
	_, err = New(graph.New(graph.Float32, 1), with(func() int { return -1 }), 1)
	mustContain(t, err, "h.0.attn.pages: shape (-1): every size must be positive")

	late := with(func() int { return 1 })
	late.Parts.Norms = []parts.Norm{{Name: "late", New: func(at nn.Site) nn.Layer { return lateNorm{at} }}}
	late.Norm = "late"
	_, err = New(graph.New(graph.Float32, 1), late, 1)
	mustContain(
		t, err, "gpt: layer h.0.ln_1: built ",
		" parameters, but counted 0 before: a layer declares parameters in Forward",
	)

	calls := 0
	_, err = New(graph.New(graph.Float32, 1), with(func() int { calls++; return calls }), 1)
	mustContain(t, err, "gpt: layer h.0.attn: built ", " parameters, but counted ")
}

// The Graph's Kernels takes precedence, and the model's Config has the same value.
func TestKernelsAreTheGraphs(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		c := odd()
		c.Kernels = kernels
		g := graph.New(graph.Float64, 1)
		c.Configure(g)
		c.Kernels = !kernels
		m, err := New(g, c, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Config.Kernels != kernels || m.Graph.Kernels != kernels {
			t.Errorf("got %t in the Config and %t in the Graph, want %t", m.Config.Kernels, m.Graph.Kernels, kernels)
		}
	}
}

// At the size of its base model, a mup model is the standard one to the bit, and so is its training.
func TestMupIsStandardAtTheBase(t *testing.T) {
	for _, optimizer := range []string{"adamw", "lion"} {
		c := eventful()
		c.Optimizer = optimizer
		standard := newTrainer(t, c)
		c.Parametrization, c.BaseWidth, c.BaseDepth, c.BaseHead = "mup", c.NEmbd, c.NLayer, c.NHead
		mup := newTrainer(t, c)
		if fingerprint(t, standard) != fingerprint(t, mup) {
			t.Errorf("%s: other initial weights", optimizer)
		}
		if diff := cmp.Diff(steps(t, standard, 4), steps(t, mup, 4)); diff != "" {
			t.Errorf("%s: -standard +mup\n%s", optimizer, diff)
		}
		if fingerprint(t, standard) != fingerprint(t, mup) {
			t.Errorf("%s: other weights after 4 steps", optimizer)
		}
	}
}

// A mup model of m times the base's width has the constants of table 8 of Yang et al. 2022, and √(L₀/L) of Yang et al.
// 2023 on every rate in the blocks. The initial values are the standard model's times their factors: the matrices that
// write to the residual stream also lose the standard's 1/√L in favour of 1/√L₀.
func TestMupFactors(t *testing.T) {
	c := tiny()
	c.Head, c.Bias, c.NLayer, c.VocabSize, c.LoraR = "linear", true, 8, 41, 2
	build := func(c Config) map[string]graph.Expr {
		m, err := New(graph.New(graph.Float64, 7), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]graph.Expr{}
		for _, p := range m.Params() {
			all[p.Name()] = p
		}
		return all
	}
	standard := build(c)
	c.Parametrization, c.BaseWidth, c.BaseDepth = "mup", 4, 2 // m = 4, L/L₀ = 4
	mup := build(c)
	m, err := New(graph.New(graph.Float64, 7), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct{ init, rate float64 }{
		"wte.weight": {1, 1}, "wpe.weight": {1, 1}, "ln_f.weight": {1, 1}, "lm_head.weight": {1, 1},
		"h.0.ln_1.weight": {1, 0.5}, "h.3.attn.c_attn.weight": {0.5, 0.125}, "h.7.mlp.c_fc.weight": {0.5, 0.125},
		"h.0.attn.c_proj.weight": {1, 0.125}, "h.5.mlp.c_proj.weight": {1, 0.125}, // 1/√m · √(L/L₀)
		"h.2.mlp.c_fc.bias": {1, 0.5}, "lm_head.bias": {1, 1}, "h.1.mlp.c_fc.lora_d": {1, 1},
	} {
		from, got := standard[name].Tensor(), mup[name].Tensor()
		for i := range got.Len() {
			if !(math.Abs(got.At(i)-want.init*from.At(i)) <= 1e-15) {
				t.Errorf("%s: entry %d is %v, want %v times %v", name, i, got.At(i), want.init, from.At(i))
				break
			}
		}
		if got := m.rate(mup[name]); !(math.Abs(got-want.rate) <= 1e-15) {
			t.Errorf("%s: learns at %v of the rate, want %v", name, got, want.rate)
		}
	}
	f := m.plan.factors
	if f.Head != 0.25 || f.Logits != 1 || f.Queries != 0.5 || f.Branch != 0.5 {
		t.Errorf("got %+v, want 1/4 on the head's input, 1/2 on queries and on branches", f)
	}
	c.BaseHead = 1 // two heads of the base's size: dρ grows by 2
	if f := c.planned().factors; f.Queries != math.Sqrt(0.5) {
		t.Errorf("twice the heads: got %v on queries, want √½", f.Queries)
	}
}

// Settings for which mup has no rule are refused by name.
func TestMupRefuses(t *testing.T) {
	for want, set := range map[string]func(*Config){
		"base_width: got 0":  func(c *Config) { c.BaseWidth = 0 },
		"attention: got mla": func(c *Config) { c.Attention = "mla" },
		"qk_norm: got head":  func(c *Config) { c.With.Set("qk_norm", "head") },
		"block: got elman":   func(c *Config) { c.Block = "elman" },
		"base_depth: got 1":  func(c *Config) { c.Block, c.BaseDepth = "post", 1 },
		"optimizer: got sgd": func(c *Config) { c.Optimizer = "sgd" },
		"base_head: got 3, want 0 with parametrization standard": func(c *Config) {
			c.Parametrization, c.BaseWidth, c.BaseHead = "", 0, 3
		},
		"parametrization: got ntk": func(c *Config) { c.Parametrization = "ntk" },
	} {
		c := tiny()
		c.VocabSize, c.Parametrization, c.BaseWidth = 41, "mup", 8
		set(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Every parameter of every part is a vector or a matrix by its declaration, never a row or a column that is one of the
// two by its shape alone: what decays, and what Muon and SOAP take for a matrix, are the matrices. A new parameter
// whose name does not say which of the two it is fails here until it is listed.
func TestMatricesAndVectors(t *testing.T) {
	vectors := regexp.MustCompile(`(^|\.)(bias|alpha|sinks|a_log|d_skip|skip_lambda|v_lambda|xsa_lambda|lambda|lambda_[qk][12]|` +
		`e_score_correction_bias|smear\.weight|conv(_[a-d])?\.weight|((ln_[a-z0-9_]+|norm|q_norm|k_norm)\.weight))$`)
	all := variants()
	for i, change := range []func(c *Config){
		func(c *Config) {
			c.MLP, c.Experts.NumExperts, c.Experts.RouterBiasUpdateRate, c.Experts.NSharedExperts = "moe", 3, 0.1, 1
		},
		func(c *Config) { c.Attention = "gqa"; c.With.Set("attn_gate", "elementwise"); c.suit() },
		func(c *Config) { c.Attention, c.LoraR = "diff", 2 },
	} {
		c := odd()
		change(&c)
		all[fmt.Sprint("further ", i)] = c
	}
	seen := map[string]bool{}
	for name, c := range all {
		if strings.Contains(name, "of our own") {
			continue
		}
		m, err := New(graph.New(graph.Float32, 1), c, 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range m.Params() {
			shape, vector := p.Tensor().Shape, vectors.MatchString(p.Name())
			if seen[p.Name()+fmt.Sprint(shape)] {
				continue
			}
			seen[p.Name()+fmt.Sprint(shape)] = true
			if vector && len(shape) != 1 || !vector && (len(shape) != 2 || slices.Min(shape) == 1 && c.BlockSize > 1) {
				t.Errorf(
					"%s: %s has shape %v, want one size of a vector or two of a matrix: vector %t", name, p.Name(),
					shape, vector,
				)
			}
			treated(t, p.Name(), shape, !vector)
		}
	}
	if len(seen) < 100 {
		t.Errorf("got %d parameters", len(seen))
	}
}

// treated checks which rule every optimizer has for a parameter: Muon and SOAP have theirs for the matrices of blocks.
func treated(t *testing.T, name string, shape []int, matrix bool) {
	t.Helper()
	for _, o := range parts.Optimizers() {
		want := o.String()
		if own := want == "muon" || want == "soap"; own && !(matrix && strings.HasPrefix(name, "h.")) {
			want = "adamw"
		}
		c := Shakespeare().Training
		c.Optimizer = o.String()
		s, err := optim.StateOf(o.New(c), name, shape)
		if got := s.Name; err != nil || got != want {
			t.Errorf("%s: %s of shape %v is updated by %s, want %s: %v", o.Name, name, shape, got, want, err)
		}
	}
}
