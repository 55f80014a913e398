package gpt

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// wide returns c with a size at which every packed matrix needs less memory.
func wide(c Config) Config {
	c.VocabSize, c.NEmbd, c.QKSize, c.VSize, c.NInner = 70, 48, 16, 20, 80
	return c
}

func model32Of(t testing.TB, c Config) *Model {
	t.Helper()
	m, err := New(graph.New(graph.Float32, 3), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m.Params(), 4)
	return m
}

func mustPack(t testing.TB, m *Model, p graph.Packing) *Model {
	t.Helper()
	packed, err := m.Packed(p)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// Every part decodes with packed weights: token by token the same as all at once, in a batch the same as alone to the
// bit, and as near to the float32 model as the rounding of the weights permits, in little more than a half and a
// quarter of the memory. Losses are measured with the same weights.
func TestPacked(t *testing.T) {
	for name, c := range variants() {
		if kind, _, _ := strings.Cut(name, " "); kind != "attention" && kind != "block" && kind != "parts" && len(name) > len("adapters") {
			continue // differs only outside the products
		}
		c = wide(c)
		m := model32Of(t, c)
		f := newFull(t, m)
		tokens := someRows(rand.New(rand.NewPCG(2, 2)), 1, c.BlockSize, c.VocabSize)[0]
		want := f.last(t, tokens)
		for p, bound := range map[graph.Packing]struct{ distance, memory float64 }{graph.BF16: {0.03, 0.9}, graph.Int8: {0.1, 0.75}} {
			t.Run(fmt.Sprintf("%s, %s", name, p), func(t *testing.T) {
				packed := mustPack(t, m, p)
				got := newFull(t, packed).last(t, tokens)
				if d := relative(got, want, 0); !(d <= bound.distance) || d == 0 {
					t.Errorf("off by %.2g of the logits, want at most %g, and not 0", d, bound.distance)
				}
				if part := float64(packed.Graph.WeightBytes()) / float64(m.Graph.WeightBytes()); !(part <= bound.memory) {
					t.Errorf("%.2f of the memory, want at most %g", part, bound.memory)
				}
				d, batch := newDecoderOf(t, packed), newBatchDecoderOf(t, packed, 2)
				var last []float64
				apart := 0.0
				if c.Attention == "linear" || c.Attention == "taylor" || runtime.GOARCH != "amd64" {
					apart = 1e-5
				}
				for _, token := range tokens {
					last = feed(t, d, token)
					rows, err := batch.Feed([][]int{{token}, {tokens[0]}})
					if err != nil {
						t.Fatal(err)
					}
					if d := relative(rows.Row(0).Floats(), last, 0); !(d <= apart) {
						t.Errorf("in a batch off by %.2g of the logits, want at most %g", d, apart)
					}
				}
				if d := relative(last, got, 0); !(d <= 1e-5) {
					t.Errorf("token by token off by %.2g of the logits of all at once", d)
				}
			})
		}
	}
}

func TestPackedRefuses(t *testing.T) {
	c := wide(odd())
	m := model32Of(t, c)
	for p, want := range map[graph.Packing]string{"": `weights: got "", want bf16 or int8`, "int4": `weights: got "int4", want bf16 or int8`} {
		_, err := m.Packed(p)
		mustContain(t, err, "model: "+want)
	}
	for _, m := range []*Model{nil, {}} {
		_, err := m.Packed(graph.BF16)
		mustContain(t, err, "model", "want one from New or LoadModel")
	}
	_, err := model64(t, c, true, 1).Packed(graph.BF16)
	mustContain(t, err, "weights: bf16 needs a float32 model with kernels, this one has kernels true and computes in float64")
	spelled := graph.New(graph.Float32, 1)
	spelled.Kernels = false
	reference, err := New(spelled, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reference.Packed(graph.Int8)
	mustContain(t, err, "weights: int8 needs a float32 model", "kernels false")

	packed := mustPack(t, m, graph.Int8)
	_, again := packed.Packed(graph.BF16)
	_, adapted := packed.Adapted(1, &Adapter{})
	for what, err := range map[string]error{
		"pack again": again, "adapt": adapted, "write": packed.WriteWeights(io.Discard), "read": packed.ReadWeights(nil),
		"export": packed.Export(t.TempDir(), nil, safetensors.F32), "use": packed.Use(nil),
	} {
		t.Run(what, func(t *testing.T) { mustContain(t, err, "its weights are packed", "h.0.attn.c_attn.weight") })
	}
	if _, err := graph.Compile(packed.Loss, packed.Params()[0]); err == nil {
		t.Error("a packed weight has a gradient")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		w, _ := m.Graph.Leaf("h.1.mlp.c_fc.weight")
		w.Tensor().Set(7, bad)
		_, err = m.Packed(graph.BF16)
		mustContain(t, err, "model: weights: h.1.mlp.c_fc.weight: entry 7 is")
		w.Tensor().Set(7, math.MaxFloat32)
		_, err = m.Packed(graph.BF16)
		mustContain(t, err, "h.1.mlp.c_fc.weight: a number too large for bf16")
	}
}
