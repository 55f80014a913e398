package seq2seq

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The formula counts what is built, for every variant.
func TestParametersAreCounted(t *testing.T) {
	change := []func(*Config){
		func(*Config) {},
		func(c *Config) { c.Bias = false },
		func(c *Config) { c.QKSize, c.VSize, c.NInner, c.NLayer = 3, 5, 11, 4 },
		func(c *Config) { c.NLayer = 1 },
	}
	for _, v := range parts.Norms() {
		change = append(change, func(c *Config) { c.Norm = v.String() })
	}
	for _, v := range blocks() {
		change = append(change, func(c *Config) { c.Block = v.String() })
	}
	for _, v := range parts.Positions() {
		change = append(change, func(c *Config) { c.Position = v.String() })
	}
	for _, v := range attentions(nil) {
		change = append(change, func(c *Config) { c.Attention = v.String(); c.Options.Set("window", 3) })
	}
	for _, change := range change {
		c := small()
		change(&c)
		m, err := New(graph.New(graph.Float32, 1), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		built := 0
		for _, p := range m.Params() {
			built += p.Tensor().Len()
		}
		if counted, err := c.Resolved().parameters(); err != nil || counted != float64(built) {
			t.Errorf("%+v: counted %v parameters (%v), %d are built", c, counted, err, built)
		}
	}
}

// What cannot be had in memory is an error that names the sizes, before anything is built.
func TestMemoryLimit(t *testing.T) {
	for _, tc := range []struct {
		change func(*Config)
		words  []string
	}{
		{func(c *Config) { c.NEmbd, c.NHead = 100_000, 1 }, []string{"GiB for parameters", "n_embd 100000", "n_head 1", "at most 64 GiB"}},
		{func(c *Config) { c.NEmbd = 1 << 25 }, []string{"GiB for parameters", "n_embd 33554432"}},
		{func(c *Config) { c.QKSize = 1 << 28 }, []string{"GiB for parameters", "qk_size 268435456"}},
		{func(c *Config) { c.TargetVocab = 1 << 28 }, []string{"GiB for parameters", "target_vocab 268435456"}},
		{func(c *Config) { c.BatchSize = 1 << 28 }, []string{"GiB for activations", "batch_size 268435456", "source_size 5"}},
		{func(c *Config) { c.SourceSize, c.Position = 1<<20, "none" }, []string{"GiB for activations", "source_size 1048576"}},
	} {
		c := small()
		tc.change(&c)
		_, err := NewTrainer(c, backwards{})
		for _, word := range tc.words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("got error %v, want %q in it", err, word)
			}
		}
	}
}
