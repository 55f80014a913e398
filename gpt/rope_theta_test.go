package gpt

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The configuration's rope_theta is the base of every rotation: the pair i of a group of n features at position t is
// rotated by t·θ^(−2i/n), in rope and in both latent attentions with their own rotation, and the logits depend on it.
func TestRopeTheta(t *testing.T) {
	for _, attention := range []string{"causal", "mla_rope", "mla_latent_rope"} {
		logits := map[float64][]float64{}
		for _, theta := range []float64{37, 10_000} {
			c := tiny()
			c.VocabSize, c.QKSize, c.VSize, c.Attention, c.RopeTheta = 11, 6, 6, attention, theta
			if c.Position = "none"; attention == "causal" {
				c.Position = "rope"
			}
			if attention != "causal" {
				c.Options.Set("rope_size", 4)
			}
			m, err := New(graph.New(graph.Float64, 3), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			tables := 0
			for _, leaf := range m.Graph.Leaves() {
				name := leaf.Name()
				if !strings.HasSuffix(name, "rope.cos") && !strings.HasSuffix(name, "rope.sin") {
					continue
				}
				tables++
				table := leaf.Tensor()
				half := table.Shape[1]
				for i := range table.Len() {
					want := float64(i/half) / math.Pow(theta, float64(i%half)/float64(half))
					if strings.HasSuffix(name, "cos") {
						want = math.Cos(want)
					} else {
						want = math.Sin(want)
					}
					if !(math.Abs(table.At(i)-want) < 1e-12) {
						t.Fatalf("%s, θ = %v: %s: entry %d is %v, want %v", attention, theta, name, i, table.At(i), want)
					}
				}
				if half < 2 {
					t.Fatalf("%s: %s has %d pairs; the first does not depend on θ", attention, name, half)
				}
			}
			if tables < 2 {
				t.Fatalf("%s: %d tables of a rotation, want cos and sin", attention, tables)
			}
			scramble(m.Params(), 9)
			logits[theta] = logitsAfter(t, m)
		}
		if cmp.Equal(logits[37], logits[10_000]) {
			t.Errorf("%s: the logits do not depend on rope_theta", attention)
		}
	}
}

// fan_in_fan_out is true if the base stores a matrix as (in, out), like GPT-2's Conv1D, and false for (out, in), like a
// Linear of LLaMA. It is the same after saving and opening.
func TestFanInFanOut(t *testing.T) {
	llama := smallLLaMA()
	llama.LoraR, llama.LoraAlpha, llama.LoraTargets = 2, 3, []string{"attn.c_attn"}
	for name, test := range map[string]struct {
		config Config
		want   bool
	}{"gpt2": {lora(2, 3, "c_attn"), true}, "llama": {llama, false}} {
		if got := adapterFolder(t, scrambled(t, test.config)).folder.FanIn; got != test.want {
			t.Errorf("%s: fan_in_fan_out: got %t, want %t", name, got, test.want)
		}
	}
}
