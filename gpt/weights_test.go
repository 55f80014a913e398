package gpt

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

func emptyGraph() *graph.Graph { return graph.New(graph.Float32, 99) }

// untied returns a model with a separate head, with all parameters far from their initial values.
func untied(t *testing.T, dtype func() *graph.Graph) *Model {
	t.Helper()
	c := tiny()
	c.Bias, c.Head, c.VocabSize = true, "linear", 11
	m, err := New(dtype(), c, 2)
	if err != nil {
		t.Fatal(err)
	}
	scramble(m.Params(), 5)
	return m
}

func sameWeights(t *testing.T, got, want *Model) {
	t.Helper()
	g, w := got.Params(), want.Params()
	if len(g) != len(w) {
		t.Fatalf("%d parameters, want %d", len(g), len(w))
	}
	for i := range w {
		if g[i].Name() != w[i].Name() || !slices.Equal(g[i].Tensor().Floats(), w[i].Tensor().Floats()) {
			t.Errorf("%s is not %s", g[i].Name(), w[i].Name())
		}
	}
}

func encoded(t *testing.T, list []safetensors.Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := safetensors.Write(&b, list, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decoded(t *testing.T, m *Model) []safetensors.Tensor {
	t.Helper()
	var b bytes.Buffer
	if err := m.WriteWeights(&b); err != nil {
		t.Fatal(err)
	}
	list, _, err := safetensors.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestWeightsRoundTrip(t *testing.T) {
	for name, dtype := range map[string]func() *graph.Graph{
		"float32": emptyGraph,
		"float64": func() *graph.Graph { return graph.New(graph.Float64, 99) },
	} {
		m, fresh := untied(t, dtype), untied(t, dtype)
		scramble(fresh.Params(), 6)
		if err := fresh.ReadWeights(encoded(t, decoded(t, m))); err != nil {
			t.Fatal(name, err)
		}
		sameWeights(t, fresh, m)
	}
}

// A file of float32 may be read into a float64 model and vice versa.
func TestWeightsOtherType(t *testing.T) {
	narrow := untied(t, emptyGraph)
	wide := untied(t, func() *graph.Graph { return graph.New(graph.Float64, 99) })
	scramble(wide.Params(), 6)
	if err := wide.ReadWeights(encoded(t, decoded(t, narrow))); err != nil {
		t.Fatal(err)
	}
	sameWeights(t, wide, narrow)
	scramble(narrow.Params(), 7)
	if err := narrow.ReadWeights(encoded(t, decoded(t, wide))); err != nil {
		t.Fatal(err)
	}
	sameWeights(t, narrow, wide)
}

// The names, shapes and order of the numbers are as in the files of GPT-2: every weight (in, out), the head (V, d).
func TestWeightsLayout(t *testing.T) {
	m := untied(t, emptyGraph)
	shapes := map[string][]int{
		"wte.weight": {11, 16}, "wpe.weight": {8, 16}, "lm_head.weight": {11, 16}, "lm_head.bias": {11},
		"ln_f.weight": {16}, "ln_f.bias": {16},
	}
	for _, h := range []string{"h.0.", "h.1."} {
		for name, shape := range map[string][]int{
			"ln_1.weight": {16}, "ln_1.bias": {16}, "ln_2.weight": {16}, "ln_2.bias": {16},
			"attn.c_attn.weight": {16, 2 * (2*5 + 7)}, "attn.c_attn.bias": {2 * (2*5 + 7)},
			"attn.c_proj.weight": {14, 16}, "attn.c_proj.bias": {16},
			"mlp.c_fc.weight": {16, 64}, "mlp.c_fc.bias": {64}, "mlp.c_proj.weight": {64, 16}, "mlp.c_proj.bias": {16},
		} {
			shapes[h+name] = shape
		}
	}
	list := decoded(t, m)
	if len(list) != len(shapes) {
		t.Errorf("%d tensors, want %d", len(list), len(shapes))
	}
	for _, f := range list {
		if !slices.Equal(f.Shape, shapes[f.Name]) {
			t.Errorf("%s: shape %v, want %v", f.Name, f.Shape, shapes[f.Name])
		}
		if f.Name != headWeight {
			continue
		}
		for _, p := range m.Params() {
			if p.Name() == headWeight && (f.F32[3*16+7] != p.Tensor().F32[7*11+3] ||
				f.F32[16] != p.Tensor().F32[1]) {
				t.Error("lm_head.weight is not transposed in the file")
			}
		}
	}
}

// Published files have a prefix, or mask buffers, or both.
func TestWeightsPublished(t *testing.T) {
	m := untied(t, emptyGraph)
	for _, prefix := range []string{"", "transformer."} {
		list := decoded(t, m)
		for i, f := range list {
			if !strings.HasPrefix(f.Name, "lm_head") {
				list[i].Name = prefix + f.Name
			}
		}
		for _, h := range []string{"h.0.", "h.1."} {
			list = append(list,
				safetensors.Tensor{Name: prefix + h + "attn.bias", Shape: []int{1, 1, 8, 8}, F32: make([]float32, 64)},
				safetensors.Tensor{Name: prefix + h + "attn.masked_bias", Shape: []int{}, F32: []float32{-1e4}})
		}
		fresh := untied(t, emptyGraph)
		scramble(fresh.Params(), 6)
		if err := fresh.ReadWeights(encoded(t, list)); err != nil {
			t.Fatalf("prefix %q: %v", prefix, err)
		}
		sameWeights(t, fresh, m)
	}
}

// A tied model skips the copy of the embedding that some files contain as the head.
func TestWeightsTiedHead(t *testing.T) {
	c := tiny()
	c.VocabSize = 11
	m, err := New(emptyGraph(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	list := decoded(t, m)
	if slices.ContainsFunc(list, func(f safetensors.Tensor) bool { return f.Name == headWeight }) {
		t.Error("a tied model wrote a head")
	}
	list = append(list, safetensors.Tensor{Name: headWeight, Shape: []int{11, 16}, F32: make([]float32, 176)})
	if err := m.ReadWeights(encoded(t, list)); err != nil {
		t.Error(err)
	}
}

// After an error no parameter has changed, not even those before the faulty one.
func TestWeightsRefused(t *testing.T) {
	m := untied(t, emptyGraph)
	good := decoded(t, m)
	at := func(name string) int {
		return slices.IndexFunc(good, func(f safetensors.Tensor) bool { return f.Name == name })
	}
	head, proj := at(headWeight), at("h.1.mlp.c_proj.weight")
	for name, tc := range map[string]struct {
		damage func(list []safetensors.Tensor) []safetensors.Tensor
		words  []string
	}{
		"missing": {func(l []safetensors.Tensor) []safetensors.Tensor { return slices.Delete(l, proj, proj+1) },
			[]string{"h.1.mlp.c_proj.weight", "missing"}},
		"extra": {func(l []safetensors.Tensor) []safetensors.Tensor {
			return append(l, safetensors.Tensor{Name: "h.2.ln_1.weight", Shape: []int{1}, F32: []float32{1}})
		}, []string{"h.2.ln_1.weight", "the model does not"}},
		"a mask where none is": {func(l []safetensors.Tensor) []safetensors.Tensor {
			return append(l, safetensors.Tensor{Name: "mask", Shape: []int{1}, F32: []float32{1}})
		}, []string{"mask"}},
		"turned": {func(l []safetensors.Tensor) []safetensors.Tensor { l[proj].Shape = []int{16, 64}; return l },
			[]string{"h.1.mlp.c_proj.weight", "[16 64]", "[64 16]"}},
		"head not turned": {func(l []safetensors.Tensor) []safetensors.Tensor {
			l[head].Shape = []int{16, 11}
			return l
		},
			[]string{headWeight, "[11 16]", "[16 11]"}},
		"head a vector": {func(l []safetensors.Tensor) []safetensors.Tensor { l[head].Shape = []int{176}; return l },
			[]string{headWeight, "[176]"}},
		"twice": {func(l []safetensors.Tensor) []safetensors.Tensor {
			f := l[proj]
			f.Name = "transformer." + f.Name
			return append(l, f)
		}, []string{"h.1.mlp.c_proj.weight", "twice"}},
		"NaN": {func(l []safetensors.Tensor) []safetensors.Tensor { l[proj].F32[5] = float32(math.NaN()); return l },
			[]string{"h.1.mlp.c_proj.weight", "entry 5", "not finite"}},
		"beyond float32": {func(l []safetensors.Tensor) []safetensors.Tensor {
			wide := make([]float64, len(l[proj].F32))
			wide[9] = 1e300
			l[proj].F32, l[proj].F64 = nil, wide
			return l
		}, []string{"h.1.mlp.c_proj.weight", "entry 9", "not finite"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := decoded(t, m)
			for i := range list { // so that a premature copy is detected
				for j := range list[i].F32 {
					list[i].F32[j] = 0.5
				}
			}
			err := m.ReadWeights(encoded(t, tc.damage(list)))
			mustContain(t, err, append(tc.words, "weights")...)
			for i, f := range decoded(t, m) {
				if !slices.Equal(f.F32, good[i].F32) {
					t.Errorf("%s has changed", f.Name)
				}
			}
		})
	}
}

// The reader keeps integers without their values; as a parameter they are refused.
func TestWeightsOfIntegers(t *testing.T) {
	m := untied(t, emptyGraph)
	b := encoded(t, decoded(t, m))
	i := bytes.Index(b, []byte(`"F32"`))
	err := m.ReadWeights(slices.Concat(b[:i], []byte(`"I32"`), b[i+5:]))
	mustContain(t, err, "weights", "floating-point numbers, want")
}

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

func mustPack(t testing.TB, m *Model, p stored.Packing) *Model {
	t.Helper()
	packed, err := m.Packed(p)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// Every part decodes with packed weights: token by token the same as all at once, in a batch the same as alone to the
// bit, and as near to the float32 model as the rounding of the weights permits, in little more than a half and a
// quarter of the memory. Losses are measured with the same weights. By day a variant is packed in one of both ways.
func TestPacked(t *testing.T) {
	for name, c := range variants() {
		if kind, _, _ := strings.Cut(name, " "); kind != "attention" && kind != "block" && kind != "parts" &&
			len(name) > len("adapters") {
			continue // differs only outside the products
		}
		c = wide(c)
		m := model32Of(t, c)
		f := newFull(t, m)
		tokens := someRows(rand.New(rand.NewPCG(2, 2)), 1, c.BlockSize, c.VocabSize)[0]
		want := f.last(t, tokens)
		for p, bound := range map[stored.Packing]struct{ distance, memory float64 }{
			stored.BF16: {0.03, 0.9}, stored.Int8: {0.1, 0.75},
		} {
			if os.Getenv("NIGHTLY") == "" && half(name) != (p == stored.BF16) {
				continue
			}
			t.Run(fmt.Sprintf("%s, %s", name, p), func(t *testing.T) {
				packed := mustPack(t, m, p)
				got := newFull(t, packed).last(t, tokens)
				if d := relative(got, want, 0); !(d <= bound.distance) || d == 0 {
					t.Errorf("off by %.2g of the logits, want at most %g, and not 0", d, bound.distance)
				}
				if part := float64(
					packed.Graph.WeightBytes(),
				) / float64(m.Graph.WeightBytes()); !(part <= bound.memory) {
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
					rows, err := batch.Feed([]int{token}, []int{tokens[0]})
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
	for p, want := range map[stored.Packing]string{
		"": `weights: got "", want bf16, int8 or int4`, "int3": `weights: got "int3", want bf16, int8 or int4`,
	} {
		_, err := m.Packed(p)
		mustContain(t, err, "model: "+want)
	}
	for _, m := range []*Model{nil, {}} {
		_, err := m.Packed(stored.BF16)
		mustContain(t, err, "model", "want one from New or LoadModel")
	}
	_, err := model64(t, c, true, 1).Packed(stored.BF16)
	mustContain(
		t, err, "weights: bf16 needs a float32 model with kernels, this one has kernels true and computes in float64",
	)
	spelled := graph.New(graph.Float32, 1)
	spelled.Kernels = false
	reference, err := New(spelled, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = reference.Packed(stored.Int8)
	mustContain(t, err, "weights: int8 needs a float32 model", "kernels false")

	packed := mustPack(t, m, stored.Int8)
	_, again := packed.Packed(stored.BF16)
	for what, err := range map[string]error{
		"pack again": again, "write": packed.WriteWeights(io.Discard), "read": packed.ReadWeights(nil),
	} {
		t.Run(what, func(t *testing.T) { mustContain(t, err, "its weights are packed", "h.0.attn.c_attn.weight") })
	}
	if _, err := graph.Compile(packed.Loss, packed.Params()[0]); err == nil {
		t.Error("a packed weight has a gradient")
	}
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		w, _ := m.Graph.Leaf("h.1.mlp.c_fc.weight")
		w.Tensor().Set(7, bad)
		_, err = m.Packed(stored.BF16)
		mustContain(t, err, "model: weights: h.1.mlp.c_fc.weight: entry 7 is")
		w.Tensor().Set(7, math.MaxFloat32)
		_, err = m.Packed(stored.BF16)
		mustContain(t, err, "h.1.mlp.c_fc.weight: a number too large for bf16")
	}
}
