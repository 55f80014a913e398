package gpt

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The counts stated in the paper and for the published networks.
func TestConfigCount(t *testing.T) {
	with := func(c Config, change func(*Config)) Config { change(&c); return c }
	baby := Baby()
	baby.VocabSize = 65
	modern := Modern()
	modern.VocabSize = 65
	for _, test := range []struct {
		name             string
		c                Config
		total, trainable int64
	}{
		{"Shakespeare", shakespeare65(), 804_096, 804_096},
		{"four tokens", with(shakespeare65(), func(c *Config) { c.FutureTokens = 4 }), 804_096 + 3*196_864, 804_096 +
			3*196_864},
		{"Modern", modern, 804_096, 804_096},
		{"Baby", baby, 10_745_088, 10_745_088},
		{"Paper", Paper(), 85_120_849, 85_120_849},
		{"GPT2", GPT2(), 124_439_808, 124_439_808},
		{"GPT2 untied", untiedGPT2(), 163_087_441, 163_087_441},
		{"DistilGPT2", DistilGPT2(), 81_912_576, 81_912_576},
		{"SmolLM2_135M", SmolLM2_135M(), 134_515_008, 134_515_008},
		{"Stories15M", Stories15M(), 15_191_712, 15_191_712},
		{"Paper, LoRA on the head", with(Paper(), func(c *Config) { c.LoraR, c.LoraTargets = 16, []string{"lm_head"} }),
			85_120_849 + 816_400, 816_400},
		{"GPT2 untied, LoRA everywhere", with(untiedGPT2(), func(c *Config) { c.LoraR = 16 }), 163_087_441 +
			3_470_608, 3_470_608},
		{"beyond int64", with(Paper(), func(c *Config) {
			c.NEmbd = math.MaxInt32
			c.NLayer = math.MaxInt32
		}), math.MaxInt64, math.MaxInt64},
	} {
		total, trainable := test.c.Count()
		if total != test.total || trainable != test.trainable {
			t.Errorf("%s: got %d, %d trainable, want %d, %d", test.name, total, trainable, test.total, test.trainable)
		}
	}
}

// A token passes the router, three of seven experts and the shared ones. Memory counts all experts.
func TestConfigCountExperts(t *testing.T) {
	c := shakespeare65() // d 128, L 4, f 512
	dense, _ := c.Count()
	c.MLP, c.Experts.NumExperts, c.Experts.NumExpertsPerTok, c.Experts.NSharedExperts, c.NInner = "moe", 7, 3, 2, 100
	rest := dense - 4*(2*128*512)
	expert := int64(3 * 128 * 100)
	if got, _ := c.Count(); got != rest+4*(128*7+9*expert) {
		t.Errorf("got %d parameters, want %d", got, rest+4*(128*7+9*expert))
	}
	if got, want := c.Active(), rest+4*(128*7+5*expert); got != want {
		t.Errorf("got %d active parameters, want %d", got, want)
	}
	biased := c
	biased.Experts.RouterBiasUpdateRate = 0.01
	total, trainable := biased.Count()
	if want := rest + 4*(128*7+9*expert); total != want+4*7 || trainable != want ||
		FLOPsPerToken(biased) != FLOPsPerToken(c) {
		t.Errorf("got %d parameters, %d trainable, want %d and %d with the biases", total, trainable, want+4*7, want)
	}
	one := c
	one.Experts.NumExpertsPerTok = 2
	if got, want := FLOPsPerToken(c)-FLOPsPerToken(one), float64(6*4*expert); !(math.Abs(got-want) <= 1e-6*want) {
		t.Errorf("got %v operations of one more expert, want %v", got, want)
	}
	more := c
	more.Experts.NumExperts = 8
	least := float64(3 * 4 * 4 * (expert + 128)) // weights and two moments; gradients take memory of activations
	if got := more.Memory() - c.Memory(); got < least || got > 4./3*least+1e6 {
		t.Errorf("got %v bytes of one more expert, want %v, and its gradients, logits and gates", got, least)
	}
}

// Heads that share keys and values, of dρ = 64 and dh = 48: only c_attn has biases if the attention is gqa_bias.
func TestConfigCountGroups(t *testing.T) {
	c := shakespeare65() // d 128, L 4
	c.NHead, c.QKSize, c.VSize, c.Bias = 6, 64, 48, true
	with := func(attention string, groups int, bias bool) int64 {
		c := c
		c.Attention, c.Bias = attention, bias
		c.Options.Set("n_kv_head", groups)
		n, _ := c.Count()
		return n
	}
	whole, plain := with("causal", 0, true), with("causal", 0, false)
	for _, test := range []struct {
		name      string
		got, want int64
	}{
		{"each its own", with("gqa", 0, true), whole},
		{"two", with("gqa", 2, true), whole - 4*(128+1)*4*(64+48)},
		{"one", with("gqa", 1, false), plain - 4*128*5*(64+48)},
		{"one, biases of c_attn", with("gqa_bias", 1, false), with("gqa", 1, false) + 4*(6*64+64+48)},
		{"one, none of c_proj", with("gqa_bias", 1, true), with("gqa", 1, true) - 4*128},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, test.got, test.want)
		}
	}
}

// One more block has 7,087,872 parameters.
func TestConfigCountBlock(t *testing.T) {
	two := Paper()
	two.NLayer = 2
	a, _ := two.Count()
	b, _ := Paper().Count()
	if a-b != 7_087_872 {
		t.Errorf("block: got %d, want 7087872", a-b)
	}
}

// Sizes that all differ, compared with the sum over the tensors of a checkpoint.
func TestConfigCountTensors(t *testing.T) {
	c := unusual()
	// T 31, V 67, d 29, H 5, dρ 7, dh 11, f 53, r 2, post-norm, three blocks
	c.Position, c.Norm = "learned", "layernorm"
	base := int64(67*29 + 31*29)
	base += 3 * (4*29 + 29*125 + 125 + 55*29 + 29 + 29*53 + 53 + 53*29 + 29) // 125 = 5·(7+7+11), 55 = 5·11
	base += 29*67 + 67
	adapters := int64(3 * (29*2 + 2*35 + 29*2 + 2*35 + 29*2 + 2*55 + 53*2 + 2*29))
	total, trainable := c.Count()
	if total != base+adapters || trainable != adapters {
		t.Errorf("got %d, %d trainable, want %d, %d", total, trainable, base+adapters, adapters)
	}

	c.LoraR, c.LoraAlpha, c.LoraTargets = 0, 0, nil
	c.Block, c.Bias, c.Head = "pre", false, "tied"
	base = 67*29 + 31*29 + 3*(2*29+29*125+55*29+29*53+53*29) + 29
	if total, trainable := c.Count(); total != base || trainable != base {
		t.Errorf("no biases, tied: got %d, %d, want %d", total, trainable, base)
	}
}

func TestConfigPresetsAreValid(t *testing.T) {
	for name, c := range map[string]Config{"Shakespeare": Shakespeare(), "Modern": Modern(), "Baby": Baby()} {
		if err := c.Validate(); err == nil || err.Error() !=
			"vocab_size: got 0, which means from the text: set it to the tokenizer's vocabulary first" {
			t.Errorf("%s without a text: got %v", name, err)
		}
		c.VocabSize = 65
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]Config{"Paper": Paper(), "GPT2": untiedGPT2(), "unusual": unusual()} {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// untiedGPT2 returns GPT-2 as counted in the paper.
func untiedGPT2() Config {
	c := GPT2()
	c.Head = "linear"
	return c
}

// usedBy returns the bytes that a run holds: everything declared, the arena of the compiled program, and the
// optimizer's state.
func usedBy(t *testing.T, c Config) (bytes float64) {
	t.Helper()
	g := graph.New(graph.Float32, 1)
	c.Configure(g)
	if c.Recompute {
		g.Recompute(c.blocks()...)
	}
	m, err := New(g, c, c.BatchSize)
	if err != nil {
		t.Fatal(err)
	}
	var after []graph.Expr
	for _, s := range m.carry.States() {
		after = append(after, s.After)
		bytes += 4 * 2 * float64(c.GradientAccumulationSteps) * s.Before.Entries()
	}
	if _, err := graph.CompileWith(m.Objective, after, m.Trainable()...); err != nil {
		t.Fatal(err)
	}
	for _, x := range g.Leaves() {
		bytes += 4*x.Stored() + 8*float64(len(x.Ints()))
	}
	bytes += 8 * float64(len(m.Future)*len(m.Tokens.Ints())) // their targets
	moments := 2.0
	if c.Optimizer == "sgd" {
		moments = 1
	}
	moments += map[int]float64{1: 0, 2: 1, 12: 3}[c.GradientAccumulationSteps]
	for _, p := range m.Trainable() {
		moments := moments
		if matrix := inBlock(p.Name()) && len(p.Tensor().Shape) == 2; matrix && c.Optimizer == "muon" {
			moments--
		} else if matrix && c.Optimizer == "soap" {
			in, widths := p.Tensor().Shape[0], p.PackedColumns()
			if widths == nil {
				widths = p.Tensor().Shape[1:]
			}
			for _, out := range widths {
				bytes += 4 * 2 * float64(in*in+out*out)
			}
		}
		bytes += 4 * moments * float64(p.Tensor().Len())
	}
	return bytes + float64(g.Bytes())
}

// The estimate before anything is built agrees with the memory used: exactly in a network of a few blocks, and within a
// quarter in every other. By day every fourth is also one of stock operations.
func TestConfigMemory(t *testing.T) {
	base := tiny()
	base.VocabSize, base.QKSize = 65, 4
	with := func(change func(*Config)) Config { c := base; change(&c); return c }
	list := append(everyPart(with(func(c *Config) { c.NLayer = 1 })),
		shakespeare65(),
		with(func(c *Config) { c.NLayer = 9 }),
		with(func(c *Config) { c.NLayer, c.Attention = 7, "alternating"; c.Options.Set("window", 3) }),
		with(func(c *Config) { c.NLayer, c.Attention = 11, "gla*2,causal,mla" }),
		with(func(c *Config) { c.BatchSize = 3000 }),
		with(func(c *Config) { c.BlockSize = 700 }),
		with(func(c *Config) { c.LoraR = 3 }),
		with(func(c *Config) { c.FutureTokens, c.Attention, c.Recompute = 4, "gla,causal", true }),
		with(func(c *Config) { c.LoraR, c.LoraTargets, c.Head = 2, []string{"c_fc", "lm_head"}, "linear" }),
		with(func(c *Config) { c.Recompute, c.NLayer = true, 8 }),
		with(func(c *Config) { c.GradientAccumulationSteps, c.Dropout, c.Bias = 2, 0.1, true }),
		with(func(c *Config) { c.Optimizer, c.Beta1 = "sgd", 0.9 }),
		with(func(c *Config) { c.Optimizer = "muon" }),
		with(func(c *Config) { c.Optimizer, c.NLayer = "soap", 7 }),
		with(func(c *Config) { c.Optimizer = "soap" }),
		with(func(c *Config) { c.GradientAccumulationSteps = 12 }),
		with(func(c *Config) { c.Attention, c.Position, c.Carry = "gated_deltanet", "none", true }),
		with(func(c *Config) {
			c.Attention, c.Position, c.Carry, c.GradientAccumulationSteps, c.NLayer = "mingru,gla", "none", true, 2, 9
		}),
	)
	for i, c := range list {
		for _, kernels := range []bool{true, false} {
			c.Kernels = kernels
			if !kernels && (c.BatchSize > 100 || c.BlockSize > 100 || os.Getenv("NIGHTLY") == "" && i%4 > 0) {
				continue
			}
			got, want := c.Memory(), usedBy(t, c)
			exact := 0.0
			if c.Carry { // the states after a window, each of which begins a cache line
				exact = 64 * 2 * float64(c.NLayer)
			}
			if off := math.Abs(got - want); !(off <= want/4) || c.NLayer <= 4 && off > exact {
				t.Errorf(
					"%s %s %s, %d blocks, kernels %t: got %v bytes, %v are used", c.Attention, c.Position, c.Block,
					c.NLayer, kernels, got, want,
				)
			}
		}
	}
}

// A need beyond the limit is refused with both numbers before anything of that size is allocated: by a configuration,
// by a model on a graph with a limit, and by a program.
func TestMemoryIsRefused(t *testing.T) {
	c := shakespeare65()
	c.MemoryLimit = c.Memory() / (1 << 30) * 0.99
	mustContain(
		t, c.Validate(), "memory: got about 0.0", "GiB for activations of batch_size 12, block_size 64",
		"want at most 0.0",
	)
	c.MemoryLimit *= 1.02
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.BlockSize = 90_000
	mustContain(t, c.Validate(), "memory: got about", "block_size 90000", "want at most 0.03")
	if _, err := New(limited(1<<30), c, 1); err != nil {
		t.Error(err) // a model that does not run needs no memory for its context
	}
	g := limited(1 << 30)
	g.Kernels = false
	_, err := New(g, c, 1)
	mustContain(t, err, "memory: got about 30", "GiB for parameters and masks", "want at most 1 GiB")

	c = shakespeare65()
	_, err = New(limited(8<<20), c, 1<<20)
	mustContain(t, err, "tokens: shape (67108864): memory: got 0.5 GiB", "want at most 0.007812 GiB")
	for _, batch := range []int{0, -1, math.MaxInt, 1 << 60} {
		_, err := New(emptyGraph(), c, batch)
		mustContain(t, err, "a batch of")
	}
	m, err := New(limited(8<<20), c, 12)
	if err != nil {
		t.Fatal(err)
	}
	_, err = graph.Compile(m.Loss, m.Params()...)
	mustContain(t, err, "compile: memory: got 0.02", "want at most 0.007812 GiB")
}

func limited(bytes int64) *graph.Graph {
	g := graph.New(graph.Float32, 1)
	g.SetMemoryLimit(bytes)
	return g
}

// ranks is a group with the given number of machines.
type ranks struct {
	dist.Group
	n int
}

func (r ranks) Size() int { return r.n }

// Moments that are divided among machines need less memory on each, and gradients that are sent are copied once.
func TestMemoryOfMachines(t *testing.T) {
	c := tiny()
	c.VocabSize = 65
	_, trained := c.Count()
	alone := c.Memory()
	for n, want := range map[int]float64{1: 0, 2: 1, 8: 1} {
		c.Hooks.Group = ranks{n: n}
		for divided, moments := range map[bool]float64{false: 2, true: 2 / float64(n)} {
			c.ShardOptimizer = divided
			if got, want := (c.Memory()-alone)/float64(4*trained), want+moments-2; !(math.Abs(got-want) <= 1e-12) {
				t.Errorf(
					"%d machines, moments divided %t: got %v numbers more for every parameter, want %v", n, divided,
					got, want,
				)
			}
		}
	}
}

// The options of the recipe, and the default of lora_alpha.
func TestRecipeOptions(t *testing.T) {
	c := Shakespeare()
	for name, want := range map[string]int{"window": 16, "global_tokens": 1, "random_keys": 2} {
		if got := c.Options.Get(name); got != want {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
	for _, r := range []int{1, 3} {
		c.LoraR = r
		if got := c.Resolved().LoraAlpha; got != float64(r) {
			t.Errorf("lora_alpha for lora_r %d: got %v", r, got)
		}
	}
}

// With and without kernels the memory grows by the same amount with every block, also if only some of the blocks are
// declared for counting.
func TestMemoryOfDeepNetworks(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		memory := func(layers int) float64 {
			c := tiny()
			c.VocabSize, c.Kernels, c.NLayer = 65, kernels, layers
			return c.Memory()
		}
		block := memory(3) - memory(2)
		for _, n := range []int{4, 5, mostDeclared, mostDeclared + 1, 5 * mostDeclared} {
			if got, want := memory(n), memory(2)+float64(n-2)*block; !(got > 0.999999*want && got < 1.000001*want) {
				t.Errorf("kernels %v: %d blocks need %v bytes, want %v", kernels, n, got, want)
			}
		}
	}
}

// A network whose parameters fit is refused if they do not fit together with a batch, and the message names the larger
// part.
func TestMemoryOfBoth(t *testing.T) {
	c := tiny()
	c.NLayer, c.NEmbd, c.VocabSize, c.BatchSize, c.BlockSize = 1, 1536, 1<<21, 1, 1
	const limit = 78 << 30
	c.MemoryLimit = 78
	if c.Memory() > limit {
		t.Fatalf("the parameters alone need %v bytes", c.Memory())
	}
	c.BatchSize, c.BlockSize = 44, 64
	if c.Memory() <= limit || c.Memory() > 1.8*limit {
		t.Fatalf("both need %v bytes", c.Memory())
	}
	mustContain(t, c.Validate(), "GiB for parameters")
}

// mute is attention that does not implement nn.Mixing.
type mute struct{ nn.Layer }

// A layer without nn.Mixing is counted as full attention, T·H·(QK + V) multiplications a token.
func TestMixingOfAnOwnAttention(t *testing.T) {
	flops := func(layers int) float64 {
		c := tiny()
		c.VocabSize, c.NLayer, c.Attention = 65, layers, "mute"
		c.Parts.Attentions = []parts.Attention{{Name: "mute", New: func(nn.Site, parts.Stack) nn.Attention {
			return func(at nn.Site) nn.Layer {
				at.Param("w", graph.Const(0), 3)
				return mute{nn.NewUnprojected(at)}
			}
		}}}
		return FLOPsPerToken(c)
	}
	silent := func(c Config) Config { c.VocabSize = 65; return c }(tiny())
	one, two := silent, silent
	one.NLayer, two.NLayer = 1, 2
	mlp := float64(6 * (2*16*64 + 2*16)) // c_fc, c_proj and two gains
	if got, want := flops(2)-flops(1), mlp+6*3+6*8*2*(5+7); got != want {
		t.Errorf("a block has %v more, want %v", got, want)
	}
}

// For a block that builds its own attention, the block's nn.Mixing counts.
func TestMixingOfAnOwnBlock(t *testing.T) {
	flops := func(wrap func(*nn.SelfAttention) nn.Layer) float64 {
		c := tiny()
		c.VocabSize, c.Block = 65, "own"
		c.Parts.Blocks = []parts.Block{{Name: "own", New: func(at nn.Site, _ nn.Attention) nn.Layer {
			return wrap(nn.NewSelfAttention(at.At("own")))
		}}}
		return FLOPsPerToken(c)
	}
	said := flops(func(l *nn.SelfAttention) nn.Layer { return l })
	silent := flops(func(l *nn.SelfAttention) nn.Layer { return mute{l} })
	if got, want := said-silent, float64(6*2*6*2*(5+7)); got != want {
		t.Errorf("two blocks that say their mixing have %v more, want %v", got, want)
	}
}

// After Reset a batch begins anew: the earlier rows have no effect.
func TestBatchDecoderReset(t *testing.T) {
	c := tiny()
	c.VocabSize = 65
	m := model64(t, c, true, 2)
	d := newBatchDecoderOf(t, m, 2)
	before, rows := someRows(rand.New(rand.NewPCG(1, 1)), 2, 3, 65), someRows(rand.New(rand.NewPCG(2, 1)), 2, 4, 65)
	logits := func(rows [][]int) []float64 {
		out, err := d.Feed(rows...)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(out.Floats())
	}
	want := logits(rows)
	d.Reset()
	if got := logits(before); slices.Equal(got, want) {
		t.Fatal("other rows have the same logits")
	}
	d.Reset()
	sameLogits(t, "after Reset", logits(rows), want)
}

// change returns the files with one changed, or left out if f is nil.
func change(t *testing.T, list []checkpoint.File, name string, f func([]byte) []byte) (out []checkpoint.File) {
	t.Helper()
	for _, file := range list {
		if file.Name == name {
			if f == nil {
				continue
			}
			var b bytes.Buffer
			if err := file.Write(&b); err != nil {
				t.Fatal(err)
			}
			file.Write = train.WriteBytes(f(b.Bytes()))
		}
		out = append(out, file)
	}
	return out
}

// FineTune refuses another tokenizer of the same size, and a checkpoint with an invalid state or weights; so does
// LoadTokenizer.
func TestFineTuneRefusesDamage(t *testing.T) {
	base := newTrainer(t, tiny())
	c := tiny()
	c.LoraR = 1
	_, other := corpus(t, strings.ReplaceAll(verses, "?", "#"), c.BlockSize)
	_, err := fineTune(c, base.Corpus, other, saved(t, 0, files(t, base)))
	mustContain(t, err, "another vocabulary")
	garbage := func([]byte) []byte { return []byte("no JSON") }
	_, err = fineTune(c, base.Corpus, base.Tokenizer, saved(t, 0, change(t, files(t, base), train.StateFile, garbage)))
	mustContain(t, err, train.StateFile)
	_, err = fineTune(c, base.Corpus, base.Tokenizer, saved(t, 0, change(t, files(t, base), train.WeightsFile, nil)))
	mustContain(t, err, train.WeightsFile)
	_, err = LoadTokenizer(saved(t, 0, change(t, files(t, base), charactersFile, garbage)))
	mustContain(t, err, charactersFile)
}

// A vocabulary may have room for more tokens than the text: a run resumes with the same size.
func TestResumeWithALargerVocabulary(t *testing.T) {
	c := tiny()
	c.VocabSize = 80
	trainer := newTrainer(t, c)
	steps(t, trainer, 2)
	again, err := Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 2, files(t, trainer)))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Config().VocabSize; got != 80 || fingerprint(t, again) != fingerprint(t, trainer) {
		t.Errorf("resumed with vocab_size %d, want 80 and the same weights", got)
	}
}

// NewTrainer returns the error of a user-defined optimizer.
func TestNewTrainerOptimizerError(t *testing.T) {
	c := tiny()
	c.Optimizer = "mine"
	c.Parts.Optimizers = []parts.Optimizer{
		{Name: "mine", New: func(train.Training) optim.Rule { return optim.SGD{Momentum: 2} }},
	}
	tok, err := text.NewCharacters(verses)
	if err != nil {
		t.Fatal(err)
	}
	data, err := text.NewCorpus(verses, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewTrainer(c, data, tok)
	mustContain(t, err, `optimizer "mine": sgd: momentum: got 2, want`)
}

// Fine-tuning refuses the same as training. A part that declares other parameters the second time is detected up to the
// depth that is declared.
func TestRefusedBeforeTraining(t *testing.T) {
	base := newTrainer(t, tiny())
	c := tiny()
	c.LoraR, c.LearningRate = 1, -1
	_, err := fineTune(c, base.Corpus, base.Tokenizer, saved(t, 0, files(t, base)))
	mustContain(t, err, "learning_rate: got -1")
	c = tiny()
	c.VocabSize, c.BlockSize = 65, 0
	mustContain(t, c.Validate(), "block_size: got 0")
	c = odd()
	calls := 0
	c.NLayer, c.Attention = mostDeclared, "ledger"
	c.Parts.Attentions = []parts.Attention{ledger(func() int { calls++; return 1 + calls/mostDeclared })}
	_, err = New(graph.New(graph.Float32, 1), c, 1)
	mustContain(t, err, "parameters, but counted")
}
