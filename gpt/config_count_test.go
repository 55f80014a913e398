package gpt

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The counts stated in the paper and for the published networks.
func TestConfigCount(t *testing.T) {
	with := func(c Config, change func(*Config)) Config { change(&c); return c }
	baby := Baby()
	baby.VocabSize = 65
	for _, test := range []struct {
		name             string
		c                Config
		total, trainable int64
	}{
		{"Shakespeare", shakespeare65(), 804_096, 804_096},
		{"Baby", baby, 10_745_088, 10_745_088},
		{"Paper", Paper(), 85_120_849, 85_120_849},
		{"GPT2", GPT2(), 124_439_808, 124_439_808},
		{"GPT2 untied", untiedGPT2(), 163_087_441, 163_087_441},
		{"DistilGPT2", DistilGPT2(), 81_912_576, 81_912_576},
		{"SmolLM2_135M", SmolLM2_135M(), 134_515_008, 134_515_008},
		{"Stories15M", Stories15M(), 15_191_712, 15_191_712},
		{"Paper, LoRA on the head", with(Paper(), func(c *Config) { c.LoraR, c.LoraTargets = 16, []string{"lm_head"} }),
			85_120_849 + 816_400, 816_400},
		{"GPT2 untied, LoRA everywhere", with(untiedGPT2(), func(c *Config) { c.LoraR = 16 }), 163_087_441 + 3_470_608, 3_470_608},
		{"beyond int64", with(Paper(), func(c *Config) { c.NEmbd, c.NLayer = math.MaxInt32, math.MaxInt32 }), math.MaxInt64, math.MaxInt64},
	} {
		total, trainable := test.c.Count()
		if total != test.total || trainable != test.trainable {
			t.Errorf("%s: got %d, %d trainable, want %d, %d", test.name, total, trainable, test.total, test.trainable)
		}
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
	c.Position, c.Norm = "learned", "layernorm" // T 31, V 67, d 29, H 5, dρ 7, dh 11, f 53, r 2, post-norm, three blocks
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
	for name, c := range map[string]Config{"Shakespeare": Shakespeare(), "Baby": Baby()} {
		if err := c.Validate(); err == nil || err.Error() != "vocab_size: got 0, which means from the text: set it to the tokenizer's vocabulary first" {
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
	if _, err := graph.Compile(m.Loss, m.Trainable()...); err != nil {
		t.Fatal(err)
	}
	for _, x := range g.Leaves() {
		bytes += 4*float64(x.Tensor().Len()) + 8*float64(len(x.Ints()))
	}
	moments := 2.0
	if c.Optimizer == "sgd" {
		moments = 1
	}
	moments += map[int]float64{1: 0, 2: 1, 12: 3}[c.GradientAccumulationSteps]
	for _, p := range m.Trainable() {
		bytes += 4 * moments * float64(p.Tensor().Len())
	}
	return bytes + float64(g.Bytes())
}

// The estimate before anything is built agrees with the memory used: exactly in a network of a few blocks, and within a
// quarter in every other.
func TestConfigMemory(t *testing.T) {
	base := tiny()
	base.VocabSize, base.QKSize = 65, 4
	with := func(change func(*Config)) Config { c := base; change(&c); return c }
	list := append(everyPart(base),
		shakespeare65(),
		with(func(c *Config) { c.NLayer = 9 }),
		with(func(c *Config) { c.NLayer, c.Attention = 7, "alternating"; c.Options.Set("window", 3) }),
		with(func(c *Config) { c.BatchSize = 3000 }),
		with(func(c *Config) { c.BlockSize = 700 }),
		with(func(c *Config) { c.LoraR = 3 }),
		with(func(c *Config) { c.LoraR, c.LoraTargets, c.Head = 2, []string{"c_fc", "lm_head"}, "linear" }),
		with(func(c *Config) { c.Recompute, c.NLayer = true, 8 }),
		with(func(c *Config) { c.GradientAccumulationSteps, c.Dropout, c.Bias = 2, 0.1, true }),
		with(func(c *Config) { c.Optimizer, c.Beta1 = "sgd", 0.9 }),
		with(func(c *Config) { c.GradientAccumulationSteps = 12 }),
	)
	for i, c := range list {
		for _, kernels := range []bool{true, false} {
			c.Kernels = kernels
			if !kernels && (c.BatchSize > 100 || c.BlockSize > 100 || testing.Short() && i%4 > 0) {
				continue
			}
			got, want := c.Memory(), usedBy(t, c)
			if off := math.Abs(got - want); !(off <= want/4) || c.NLayer <= 4 && off > 0 {
				t.Errorf("%s %s %s, %d blocks, kernels %t: got %v bytes, %v are used", c.Attention, c.Position, c.Block, c.NLayer, kernels, got, want)
			}
		}
	}
}

// A need beyond the limit is refused with both numbers before anything of that size is allocated: by a configuration,
// by a model on a graph with a limit, and by a program.
func TestMemoryIsRefused(t *testing.T) {
	c := shakespeare65()
	c.MemoryLimit = c.Memory() / (1 << 30) * 0.99
	mustContain(t, c.Validate(), "memory: got about 0.0", "GiB for activations of batch_size 12, block_size 64", "want at most 0.0")
	c.MemoryLimit *= 1.02
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	c.BlockSize = 90_000
	mustContain(t, c.Validate(), "memory: got about", "block_size 90000", "want at most 0.03")
	_, err := New(limited(1<<30), c, 1)
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
				t.Errorf("%d machines, moments divided %t: got %v numbers more for every parameter, want %v", n, divided, got, want)
			}
		}
	}
}
