package seq2seq

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// The formula counts exactly the numbers that are built, for every variant.
func TestParametersAreCounted(t *testing.T) {
	change := []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Bias = false },
		func(c *Config) { c.QKSize, c.VSize, c.NInner, c.NLayer = 3, 5, 11, 4 },
		func(c *Config) { c.NLayer = 1 },
		func(c *Config) { // a mask in every block
			own := mixingNorm(c.SourceSize, func(i, j int) bool { return i == j })
			c.Norm, c.Parts.Norms, c.NLayer = "own", []parts.Norm{own}, 4
		},
	}
	for _, v := range parts.Norms() {
		change = append(change, func(c *Config) { c.Norm = v.String() })
	}
	for _, v := range parts.MLPs() {
		change = append(change, func(c *Config) { c.MLP, c.Activation = v.String(), "" })
	}
	for _, change := range append(change, variants()...) {
		c := small()
		change(&c)
		m, err := New(graph.New(graph.Float32, 1), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		built, values := 0, 0
		for _, p := range m.Params() {
			built += p.Tensor().Len()
		}
		for _, x := range m.Graph.Leaves() {
			values += int(x.Stored())
		}
		values -= built
		if counted, err := c.Resolved().counts(); err != nil || counted.parameters != float64(built) {
			t.Errorf("%+v: counted %v parameters (%v), %d are built", c, counted.parameters, err, built)
		} else if counted.values != float64(values) {
			t.Errorf("%+v: counted %v numbers of masks and tables, %d are built", c, counted.values, values)
		}
	}
}

// variants returns changes to a Config, one for every block, position and attention.
func variants() (change []func(*Config)) {
	for _, v := range blocks() {
		change = append(change, func(c *Config) { c.Block = v.String() })
	}
	for _, v := range parts.Positions() {
		change = append(change, func(c *Config) { c.Position = v.String() })
	}
	for _, v := range (Config{}).attentions() {
		change = append(change, func(c *Config) { c.Attention = v.String(); c.Options.Offer("window", 3) })
	}
	return change
}

// The planned memory of training is exact before anything is built, for every attention and position, with and without
// kernels, and with recomputed blocks.
func TestMemoryIsPlanned(t *testing.T) {
	change := []func(*Config){
		func(c *Config) { c.Recompute, c.Dropout = true, 0.1 },
		func(c *Config) { c.GradientAccumulationSteps, c.QKSize, c.VSize, c.NInner = 2, 3, 5, 11 },
		func(c *Config) { c.BatchSize, c.SourceSize, c.TargetSize, c.NLayer = 50, 9, 8, 6 },
	}
	for i, change := range append(change, variants()...) {
		c := small()
		change(&c)
		c.Kernels = i%3 > 0
		got, err := c.Memory()
		if err != nil {
			t.Fatal(err)
		}
		g := graph.New(graph.Float32, 1)
		g.Kernels = c.Kernels
		g.SetThreads(c.Threads)
		if c.Recompute {
			g.Recompute(c.blocks()...)
		}
		m, err := New(g, c, c.BatchSize)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := graph.Compile(m.Loss, m.Params()...); err != nil {
			t.Fatal(err)
		}
		want := float64(g.Bytes())
		for _, x := range g.Leaves() {
			want += 4*x.Stored() + 8*float64(len(x.Ints()))
		}
		kept := 2.0
		if c.GradientAccumulationSteps > 1 {
			kept = 3
		}
		for _, p := range m.Params() {
			want += 4 * kept * float64(p.Tensor().Len())
		}
		if got != want {
			t.Errorf("%+v: got %v bytes, %v are used", c, got, want)
		}
	}
}

// The memory of networks too wide and of batches too large to be planned, or too small, is estimated: four times the
// parameters, the masks, and eight numbers of each feature, block and token. Training is refused exactly if it needs
// more than the limit, and a network if its parameters and masks do.
func TestMemoryIsEstimated(t *testing.T) {
	for batch, estimated := range map[int]bool{0: true, 1: false, 1 << 20: false, 1<<20 + 1: true, 7: true} {
		c := small()
		if c.BatchSize = batch; batch == 7 {
			c.NInner = 1 << 24
		}
		got, err := c.Memory()
		check(t, err)
		n, err := c.Resolved().counts()
		check(t, err)
		want := 4 * (4*n.parameters + n.values + 8*float64(batch)*float64((c.SourceSize+c.TargetSize)*c.NLayer*c.NEmbd))
		if (got == want) != estimated {
			t.Errorf("a batch of %d: got %v bytes, the estimate is %v", batch, got, want)
		}
		if batch != 1<<20 {
			continue
		}
		for share, refused := range map[float64]bool{0.9: false, 1.1: true, 1.9: true} {
			c.MemoryLimit = got / share / (1 << 30)
			if err := c.Validate(); (err != nil) != refused {
				t.Errorf("%v of the limit: got error %v", share, err)
			}
		}
		for share, refused := range map[float64]bool{1.01: false, 0.99: true} {
			c.MemoryLimit = share * 4 * (n.parameters + n.values) / (1 << 30)
			if err := c.ValidateModel(); (err != nil) != refused {
				t.Errorf("%v of the memory of parameters and masks: got error %v", share, err)
			}
		}
	}
}

// Numbers that cannot be counted are an error, whether the first block fails or a later one.
func TestCountsOfBrokenParts(t *testing.T) {
	for _, block := range []string{"h.0", "h.1"} {
		c := small()
		c.Norm = "own"
		c.Parts.Norms = []parts.Norm{{Name: "own", New: func(at nn.Site) nn.Layer {
			if strings.Contains(at.Path(), block) {
				panic("glass")
			}
			return nn.NewLayerNorm(at)
		}}}
		_, err := c.Resolved().counts()
		mustSay(t, err, "glass", block)
		_, err = c.Memory()
		mustSay(t, err, "glass", block)
	}
}

// Exceeding the memory is an error that names the sizes, before anything is built. Kernels compute the rows of masks,
// except a window's; the matrices of a Linformer are as large as a mask.
func TestMemoryLimit(t *testing.T) {
	for _, tc := range []struct {
		change func(*Config)
		words  []string
	}{
		{func(c *Config) { c.NEmbd, c.NHead = 100_000, 1 }, []string{"GiB for parameters", "n_embd 100000", "64 GiB"}},
		{func(c *Config) { c.QKSize = 1 << 28 }, []string{"GiB for parameters", "qk_size 268435456"}},
		{func(c *Config) { c.TargetVocab = 1 << 28 }, []string{"GiB for parameters", "target_vocab 268435456"}},
		{func(c *Config) { c.BatchSize = 1 << 28 }, []string{"for activations", "batch_size 268435456"}},
		{func(c *Config) {
			c.SourceSize, c.Position = 1<<22, "none"
		}, []string{"GiB for activations", "source_size 4194304"}},
	} {
		c := small()
		c.MemoryLimit = 64
		tc.change(&c)
		mustSay(t, second(NewTrainer(c, backwards{})), tc.words...)
	}
	for _, attention := range (Config{}).attentions() {
		c := small()
		c.Attention, c.MemoryLimit, c.SourceSize = attention.String(), 64, 1<<20
		c.Options.Offer("window", 3)
		if name := attention.String(); name != "window" && name != "linformer" {
			check(t, c.ValidateModel())
			c.Kernels = false
		}
		mustSay(t, c.ValidateModel(), "GiB for parameters and masks of ", "source_size 1048576", "at most 64 GiB")
		c.SourceSize, c.TargetSize, c.Kernels = 5, 1<<20, true
		check(t, c.ValidateModel())
		c.Kernels = false
		mustSay(t, c.ValidateModel(), "GiB for parameters and masks of ", "target_size 1048576")
	}
}
