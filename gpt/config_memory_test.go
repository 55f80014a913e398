package gpt

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
)

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
