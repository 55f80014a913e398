package gpt

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// For any sizes, options and parts, a Config is counted and checked in little memory: work for every token or pair of
// tokens would allocate for them.
func TestHostileSizesAreCheap(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	names := func(list []string) string { return list[rng.IntN(len(list))] }
	trials := 150
	if os.Getenv("NIGHTLY") != "" {
		trials = 600
	}
	for range trials {
		c := shakespeare65()
		c.Position, c.Block = names(parts.Names(parts.Positions())), names([]string{"pre", "pre", "post", "elman"})
		if c.Block != "elman" {
			c.Attention = names(parts.Names(parts.Attentions()))
		}
		sizes := []*int{&c.NLayer, &c.NHead, &c.NEmbd, &c.BlockSize, &c.VocabSize, &c.QKSize, &c.VSize, &c.NInner, &c.LoraR}
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
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32<<20 {
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
	declared := 0
	c := shakespeare65()
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
	late.Parts.Norms, late.Norm = []parts.Norm{{Name: "late", New: func(at nn.Site) nn.Layer { return lateNorm{at} }}}, "late"
	_, err = New(graph.New(graph.Float32, 1), late, 1)
	mustContain(t, err, "gpt: built ", " parameters, but counted ", " before: a layer declares parameters in Forward")

	calls := 0
	_, err = New(graph.New(graph.Float32, 1), with(func() int { calls++; return calls }), 1)
	mustContain(t, err, "parameters, but counted ")
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
