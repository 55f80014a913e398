package peft

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/gpttest"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

// scrambled returns a model whose numbers depend only on the names in its configuration, so models with the same base
// are equal on it.
func scrambled(t testing.TB, c gpt.Config) *gpt.Model { return scrambledIn(t, graph.Float64, c) }

func scrambledIn(t testing.TB, dtype graph.Dtype, c gpt.Config) *gpt.Model {
	t.Helper()
	c.VocabSize = 11
	m, err := gpt.New(graph.New(dtype, 3), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params() {
		for i := range p.Tensor().Len() {
			p.Tensor().Set(i, float64(float32(0.2*math.Sin(float64(1+i*len(p.Name())))))) // as a file holds it
		}
	}
	return m
}

// logitsAfter returns the logits after some tokens.
func logitsAfter(t testing.TB, m *gpt.Model) []float64 {
	t.Helper()
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := d.Feed([]int{1, 2, 3, 5})
	if err != nil {
		t.Fatal(err)
	}
	return logits.Floats()
}

// lora returns tiny with adapters of rank r and the given α.
func lora(r int, alpha float64, targets ...string) gpt.Config {
	c := gpttest.Tiny()
	c.LoraR, c.LoraAlpha, c.LoraTargets = r, alpha, targets
	return c
}

// adapterFolder returns the adapter of a model after it was saved and opened.
func adapterFolder(t testing.TB, m *gpt.Model) *Adapter {
	t.Helper()
	dir := t.TempDir()
	if err := Save(dir, m, "somebody/base"); err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// matricesOf returns the numbers of an adapter.
func matricesOf(t testing.TB, a *Adapter) []peft.Matrix {
	t.Helper()
	list, err := a.folder.Matrices()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func adapted(t testing.TB, m *gpt.Model, list ...*Adapter) *gpt.Model {
	t.Helper()
	with, err := Adapted(m, 1, list...)
	if err != nil {
		t.Fatal(err)
	}
	return with
}

func using(t testing.TB, m *gpt.Model, a *Adapter) []float64 {
	t.Helper()
	if err := use(m, a); err != nil {
		t.Fatal(err)
	}
	return logitsAfter(t, m)
}

// use is m.Use, where a nil pointer means no adapter.
func use(m *gpt.Model, a *Adapter) error {
	if a == nil {
		return m.Use(nil)
	}
	return m.Use(a)
}

// An adapter that is saved and opened computes the same bits on the base, and is saved again as the same bytes. It has
// the rank of the model if queries, keys and values have one adapter together, and three times that rank if each has
// one. The same holds for an untrained adapter.
func TestAdapterRoundTrip(t *testing.T) {
	for _, fused := range []bool{true, false} {
		c, rank := lora(2, 3, "c_attn", "mlp.c_fc"), 2
		if c.LoraFused = fused; !fused {
			rank = 6
		}
		tuned := scrambled(t, c)
		want := logitsAfter(t, tuned)
		a := adapterFolder(t, tuned)
		with := adapted(t, scrambled(t, gpttest.Tiny()), a)
		base := logitsAfter(t, with)
		if diff := cmp.Diff(logitsAfter(t, scrambled(t, gpttest.Tiny())), base); diff != "" {
			t.Errorf("before an adapter is used: -base +got:\n%s", diff)
		}
		if diff := cmp.Diff(want, using(t, with, a)); diff != "" || a.Base != "somebody/base" || cmp.Equal(want, base) {
			t.Errorf("fused %t, base %s, -tuned +got:\n%s", fused, a.Base, diff)
		}
		if got := a.folder; with.Config.LoraR != rank || got.Rank != rank || got.Alpha != 1.5*float64(rank) {
			t.Errorf(
				"fused %t: got a rank of %d, %d in the folder with alpha %v, want %d", fused, with.Config.LoraR,
				got.Rank, got.Alpha, rank,
			)
		}
		for _, m := range matricesOf(t, a) {
			if out := 2*2*5 + 2*7; strings.HasSuffix(m.Name, "c_attn") && (len(m.A) != rank*16 ||
				len(m.B) != rank*out) {
				t.Errorf(
					"fused %t: %s: got %d and %d numbers, want %d rows of 16 and %d columns of %d", fused, m.Name,
					len(m.A), len(m.B), rank, rank, out,
				)
			}
			if fused && slices.Contains(m.B, 0) {
				t.Errorf("%s: B has zeros, though the model's adapter has none", m.Name)
			}
		}
		if diff := cmp.Diff(matricesOf(t, a), matricesOf(t, adapterFolder(t, with))); diff != "" {
			t.Errorf("fused %t, saved again: -want +got:\n%s", fused, diff)
		}
	}
	base := logitsAfter(t, scrambled(t, gpttest.Tiny()))
	empty := scrambled(t, lora(2, 3, "c_attn"))
	if err := empty.Use(nil); err != nil {
		t.Fatal(err)
	}
	with := adapted(t, scrambled(t, gpttest.Tiny()), adapterFolder(t, empty))
	if got := using(t, with, adapterFolder(t, empty)); !cmp.Equal(got, base) || with.Config.LoraR != 6 {
		t.Errorf("an untrained adapter of rank %d: the base is another", with.Config.LoraR)
	}
}

// An adapter of PEFT for the entire c_attn adds s·(B·A)ᵀ to the weight.
func TestAdapterOfPEFT(t *testing.T) {
	plain := scrambled(t, gpttest.Tiny())
	dir := t.TempDir()
	c := peft.Config{Rank: 3, Alpha: 4, RootScale: true, Targets: []string{"attn.c_attn", "mlp.c_proj"}}
	var list []peft.Matrix
	for _, p := range plain.Params() {
		name, ok := strings.CutSuffix(p.Name(), ".weight")
		if !ok || !strings.HasSuffix(name, "c_attn") && !strings.HasSuffix(name, "mlp.c_proj") {
			continue
		}
		w := p.Tensor()
		in, out := w.Shape[0], w.Shape[1]
		m := peft.Matrix{Name: "transformer." + name, A: make([]float32, 3*in), B: make([]float32, out*3)}
		for i := range m.A {
			m.A[i] = float32(0.1 * math.Cos(float64(3+i)))
		}
		for i := range m.B {
			m.B[i] = float32(0.1 * math.Cos(float64(5+2*i)))
		}
		list = append(list, m)
	}
	if err := peft.Write(dir, c, list); err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	with := adapted(t, scrambled(t, gpttest.Tiny()), a)
	got, before := using(t, with, a), logitsAfter(t, plain)
	for _, m := range list {
		p, _ := plain.Graph.Leaf(strings.TrimPrefix(m.Name, "transformer.") + ".weight")
		w := p.Tensor()
		for i := range w.Len() {
			sum, row, col := 0.0, i/w.Shape[1], i%w.Shape[1]
			for k := range 3 {
				sum += float64(m.A[k*w.Shape[0]+row]) * float64(m.B[col*3+k])
			}
			w.Set(i, w.At(i)+4/math.Sqrt(3)*sum)
		}
	}
	want := logitsAfter(t, plain)
	d, moved := gpttest.Relative(got, want, 0), gpttest.Relative(before, want, 0)
	if !(d < 1e-12) || !(moved > 1e-2) || len(list) != 4 {
		t.Errorf("%d matrices, %v off", len(list), d)
	}
	// of rank 9, which is separated into q, k and v
	if d := gpttest.Relative(using(t, with, adapterFolder(t, with)), want, 0); !(d < 1e-12) {
		t.Errorf("saved and opened again: %v off", d)
	}
}

// An adapter whose matrices have ranks and α of their own, in some blocks alone, adds s·(B·A)ᵀ to each weight.
func TestAdapterPatterns(t *testing.T) {
	plain, dir := scrambled(t, gpttest.Tiny()), t.TempDir()
	const config = `{"peft_type": "LORA", "r": 3, "lora_alpha": 4, "use_rslora": true, "target_modules": "all-linear",
		"rank_pattern": {"c_attn": 2}, "alpha_pattern": {"h\\.1\\..*": 7}}`
	var tensors []safetensors.Tensor
	for i, a := range []struct {
		name  string
		rank  int
		scale float64
	}{{"h.1.attn.c_attn", 2, 7 / math.Sqrt(2)}, {"h.0.mlp.c_proj", 3, 4 / math.Sqrt(3)}} {
		p, _ := plain.Graph.Leaf(a.name + ".weight")
		w := p.Tensor()
		in, out := w.Shape[0], w.Shape[1]
		down, up := make([]float32, a.rank*in), make([]float32, out*a.rank)
		for j := range down {
			down[j] = float32(0.1 * math.Cos(float64(3+i+j)))
		}
		for j := range up {
			up[j] = float32(0.1 * math.Cos(float64(5+i+2*j)))
		}
		for j := range w.Len() {
			sum := 0.0
			for k := range a.rank {
				sum += float64(down[k*in+j/out]) * float64(up[j%out*a.rank+k])
			}
			w.Set(j, w.At(j)+a.scale*sum)
		}
		name := "base_model.model.transformer." + a.name
		tensors = append(tensors,
			safetensors.Tensor{Name: name + ".lora_A.weight", Shape: []int{a.rank, in}, F32: down},
			safetensors.Tensor{Name: name + ".lora_B.weight", Shape: []int{out, a.rank}, F32: up})
	}
	file := gpttest.Written(t, func(w *bytes.Buffer) error { return safetensors.Write(w, tensors, nil) })
	for name, data := range map[string][]byte{
		"adapter_config.json": []byte(config), "adapter_model.safetensors": file,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	base, want := logitsAfter(t, scrambled(t, gpttest.Tiny())), logitsAfter(t, plain)
	got := using(t, adapted(t, scrambled(t, gpttest.Tiny()), a), a)
	if d := gpttest.Relative(got, want, 0); !(d < 1e-12) || !(gpttest.Relative(base, want, 0) > 1e-3) {
		t.Errorf("the logits are %v off, those of the base %v", d, gpttest.Relative(base, want, 0))
	}
}

// Adapters of different ranks, factors and matrices are used one after another in one model, each with the same numbers
// as alone.
func TestAdaptersTakeTurns(t *testing.T) {
	list := []*Adapter{
		adapterFolder(t, scrambled(t, lora(2, 3))), adapterFolder(t, scrambled(t, lora(3, 7, "c_attn"))),
		adapterFolder(t, scrambled(t, lora(1, 5, "c_fc", "mlp.c_proj"))), nil,
	}
	all := adapted(t, scrambled(t, gpttest.Tiny()), list[:3]...)
	d, err := gpt.NewDecoder(all, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{0, 1, 2, 3, 1, 0} {
		if err := use(all, list[i]); err != nil {
			t.Fatal(err)
		}
		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		got, err := d.Feed([]int{1, 2, 3, 5})
		if err != nil {
			t.Fatal(err)
		}
		want := logitsAfter(t, scrambled(t, gpttest.Tiny()))
		if list[i] != nil {
			want = using(t, adapted(t, scrambled(t, gpttest.Tiny()), list[i]), list[i])
		}
		if e := gpttest.Relative(got.Floats(), want, 0); !(e < 1e-12) {
			t.Errorf("adapter %d: %v off", i, e)
		}
	}
}

// After Merge the base alone computes what it did with the adapter. After Unmerge its weights are the original ones, up
// to the rounding of their type.
func TestUnmerge(t *testing.T) {
	a, b := adapterFolder(t, scrambled(t, lora(2, 3))), adapterFolder(t, scrambled(t, lora(3, 7, "c_attn")))
	for dtype, most := range map[graph.Dtype]float64{graph.Float64: 1e-12, graph.Float32: 1e-6} {
		with := adapted(t, scrambledIn(t, dtype, gpttest.Tiny()), a, b)
		plain, err := with.Plain(1)
		if err != nil {
			t.Fatal(err)
		}
		var before [][]float64
		for _, p := range plain.Params() {
			before = append(before, p.Tensor().Floats())
		}
		want := using(t, with, a)
		with.Merge()
		if e := gpttest.Relative(logitsAfter(t, plain), want, 0); !(e < 10*most) {
			t.Errorf("%v: merged: %v off", dtype, e)
		}
		if err := with.Use(b); err != nil {
			t.Fatal(err)
		}
		if err := with.Unmerge(a); err != nil {
			t.Fatal(err)
		}
		for i, p := range plain.Params() {
			if e := gpttest.Relative(p.Tensor().Floats(), before[i], 0); !(e < most) {
				t.Errorf("%v: unmerged: %s is %v off", dtype, p.Name(), e)
			}
		}
		if e := gpttest.Relative(logitsAfter(t, with), logitsAfter(t, plain), 0); e != 0 {
			t.Errorf("%v: unmerged, an adapter is in use: %v off", dtype, e)
		}
		gpttest.MustContain(t, with.Unmerge(nil), "got nil, want the one that was merged")
	}
}

// An adapter that does not fit is an error of one sentence with the matrix in it, and the model is unchanged.
func TestAdapterRefuses(t *testing.T) {
	a := adapterFolder(t, scrambled(t, lora(2, 3)))
	plain := scrambled(t, gpttest.Tiny())
	gpttest.MustContain(t, plain.Use(a), "lora_r is 0: want a model with lora_r, such as the model of Adapted")
	gpttest.MustContain(t, Save(t.TempDir(), plain, ""), "the model has none, lora_r is 0")
	gpttest.MustContain(t, (*gpt.Model)(nil).Use(a), "model: got nil")
	_, err := Adapted(plain, 1)
	gpttest.MustContain(t, err, "got none, want at least one from Open")
	_, err = Adapted(plain, 1, a, nil)
	gpttest.MustContain(t, err, "got none, want at least one from Open")
	_, err = Adapted(plain, 1, new(Adapter))
	gpttest.MustContain(t, err, "got none, want at least one from Open")
	_, err = Adapted(scrambled(t, lora(2, 3)), 1, a)
	gpttest.MustContain(t, err, "lora_r: got a model of 2, want one without adapters")
	_, err = Open(t.TempDir())
	gpttest.MustContain(t, err, "adapter_config.json")

	low := scrambled(t, lora(1, 3))
	before := logitsAfter(t, low)
	gpttest.MustContain(t, low.Use(a), "transformer.h.0.attn.c_attn: r: got 2, want at most the model's lora_r 1")
	gpttest.MustContain(t, low.Use(new(Adapter)), "want one from Open")
	gpttest.MustContain(
		t, scrambled(t, lora(4, 3, "c_fc")).Use(a), "transformer.h.0.attn.c_attn: the model has no adapter there",
	)
	wide := gpttest.Tiny()
	wide.NInner = 40
	_, err = Adapted(scrambled(t, wide), 1, a)
	gpttest.MustContain(t, err, "transformer.h.0.mlp.c_fc: got one for a matrix (16, 64), want (16, 40)")
	shallow := gpttest.Tiny()
	shallow.NLayer = 1
	_, err = Adapted(scrambled(t, shallow), 1, a)
	gpttest.MustContain(t, err, "transformer.h.1.", "the model has no adapter there")
	deep := gpttest.Tiny()
	deep.NLayer = 3
	_, err = Adapted(scrambled(t, deep), 1, a)
	gpttest.MustContain(t, err, "transformer.h.2.attn.c_attn", "target_modules", "the file has no matrices")
	q := *a
	q.folder = &peft.Folder{Config: a.folder.Config, Shapes: a.folder.Shapes}
	q.folder.Targets = []string{"q_proj"}
	_, err = Adapted(plain, 1, &q)
	gpttest.MustContain(t, err, "target_modules: got q_proj, want endings of transformer.h.0.attn.c_attn, ")
	if diff := cmp.Diff(before, logitsAfter(t, low)); diff != "" {
		t.Errorf("after an error: -before +after:\n%s", diff)
	}
	broken := scrambled(t, lora(2, 3))
	broken.Params()[4].Tensor().Set(0, math.NaN())
	dir := filepath.Join(t.TempDir(), "d")
	gpttest.MustContain(t, Save(dir, broken, ""), broken.Params()[4].Name(), "NaN")
	if _, err := os.Stat(dir); err == nil {
		t.Error("a broken adapter was written to a folder")
	}
}

// smallLLaMA has 4 heads of queries and 2 of keys and values, with 6 features each.
func smallLLaMA() gpt.Config {
	c := gpttest.Tiny()
	c.NHead, c.NEmbd, c.NInner, c.QKSize, c.VSize = 4, 16, 20, 6, 6
	c.Position, c.Norm, c.MLP, c.Attention, c.Head = "rope", "rmsnorm", "swiglu", "gqa", "linear"
	c.Options.Set("n_kv_head", 2)
	return c
}

// turnedHalves returns the index here of a row of q_proj or k_proj, whose heads of 6 features are rotated by halves.
func turnedHalves(row int) int { return row/6*6 + []int{0, 2, 4, 1, 3, 5}[row%6] }

// An adapter of PEFT for LLaMA's matrices adds s·B·A to each of them. The saved folder has the same matrices.
func TestAdapterOfLLaMA(t *testing.T) {
	plain := scrambled(t, smallLLaMA())
	straight := func(row int) int { return row }
	places := []struct {
		theirs, ours string
		from, rows   int
		column       func(row int) int
	}{
		{"self_attn.q_proj", "attn.c_attn", 0, 24, turnedHalves},
		{"self_attn.k_proj", "attn.c_attn", 24, 12, turnedHalves},
		{"self_attn.v_proj", "attn.c_attn", 36, 12, straight},
		{"self_attn.o_proj", "attn.c_proj", 0, 16, straight},
		{"mlp.gate_proj", "mlp.c_gate", 0, 20, straight},
		{"mlp.up_proj", "mlp.c_fc", 0, 20, straight},
		{"mlp.down_proj", "mlp.c_proj", 0, 16, straight},
	}
	c := peft.Config{
		Rank: 2, Alpha: 3,
		Targets: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"},
	}
	var list []peft.Matrix
	for _, block := range []string{"0", "1"} {
		for n, place := range places {
			p, _ := plain.Graph.Leaf("h." + block + "." + place.ours + ".weight")
			w := p.Tensor()
			m := peft.Matrix{
				Name: "model.layers." + block + "." + place.theirs, A: make([]float32, 2*w.Shape[0]),
				B: make([]float32, place.rows*2),
			}
			for i := range m.A {
				m.A[i] = float32(0.1 * math.Cos(float64(n+i)))
			}
			for i := range m.B {
				m.B[i] = float32(0.1 * math.Cos(float64(n+2*i*i)))
			}
			list = append(list, m)
		}
	}
	dir := t.TempDir() + "/a"
	if err := peft.Write(dir, c, list); err != nil {
		t.Fatal(err)
	}
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	with := adapted(t, scrambled(t, smallLLaMA()), a)
	got, before := using(t, with, a), logitsAfter(t, plain)
	for i, m := range list {
		place := places[i%len(places)]
		p, _ := plain.Graph.Leaf("h." + []string{"0", "1"}[i/len(places)] + "." + place.ours + ".weight")
		w := p.Tensor()
		for row := range place.rows {
			for in := range w.Shape[0] {
				at := in*w.Shape[1] + place.from + place.column(row)
				w.Set(
					at,
					w.At(at)+1.5*(float64(m.B[2*row])*float64(m.A[in])+float64(m.B[2*row+1])*float64(m.A[w.Shape[0]+
						in])),
				)
			}
		}
	}
	want := logitsAfter(t, plain)
	if d := gpttest.Relative(got, want, 0); !(d < 1e-12) || !(gpttest.Relative(before, want, 0) > 1e-3) {
		t.Errorf("%v off, the base is %v off", d, gpttest.Relative(before, want, 0))
	}
	again := adapterFolder(t, with)
	if diff := cmp.Diff(list, matricesOf(t, again)); diff != "" {
		t.Errorf("saved again: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(c, again.folder.Config, cmp.Transformer("base", func(c peft.Config) [4]any {
		return [4]any{c.Rank, c.Alpha, c.FanIn, len(c.Targets)}
	})); diff != "" || !cmp.Equal(again.folder.Config.Targets, c.Targets) {
		t.Errorf("saved again, with %v: -want +got:\n%s", again.folder.Config.Targets, diff)
	}

	// PEFT's default adapts only queries and values.
	c.Targets, dir = []string{"q_proj", "v_proj"}, dir+"b"
	if err := peft.Write(dir, c, []peft.Matrix{list[0], list[2], list[7], list[9]}); err != nil {
		t.Fatal(err)
	}
	some, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	with = adapted(t, scrambled(t, smallLLaMA()), some)
	if got := using(t, with, some); cmp.Equal(got, before) || with.Config.LoraR != 2 ||
		!cmp.Equal(with.Config.LoraTargets, []string{"attn.c_attn"}) {
		t.Errorf("queries and values: rank %d of %v", with.Config.LoraR, with.Config.LoraTargets)
	}
	both := adapted(t, scrambled(t, smallLLaMA()), a, some)
	if d := gpttest.Relative(using(t, both, some), using(t, with, some), 0); !(d < 1e-12) {
		t.Errorf("beside another: %v off", d)
	}
}

// An adapter beside packed weights computes what it computes beside the same weights as numbers, is saved again as the
// same bytes, and can be left again. Packed weights take no merge, and Unmerge and packed adapters are refused.
func TestAdapterBesidePackedWeights(t *testing.T) {
	c := gpttest.Wide(gpttest.Tiny())
	m := gpttest.Model(t, c)
	for _, p := range m.Params() {
		for i, x := range p.Tensor().F32 { // as bfloat16 holds it
			p.Tensor().F32[i] = math.Float32frombits(math.Float32bits(x) &^ 0xffff)
		}
	}
	c.LoraR, c.LoraAlpha = 2, 3
	a := adapterFolder(t, scrambledLike(t, c))
	with := adapted(t, m, a)
	base, want := logitsAfter(t, with), using(t, with, a)
	packed := adapted(t, gpttest.Packed(t, m, stored.BF16), a)
	if d := gpttest.Relative(using(t, packed, a), want, 0); !(d <= 1e-5) {
		t.Errorf("beside packed weights: off by %.2g of the logits beside numbers", d)
	}
	packed.Merge()
	if d := gpttest.Relative(logitsAfter(t, packed), want, 0); !(d <= 1e-5) {
		t.Errorf("after Merge: off by %.2g of the logits before", d)
	}
	if diff := cmp.Diff(matricesOf(t, a), matricesOf(t, adapterFolder(t, packed))); diff != "" {
		t.Errorf("saved again: -want +got:\n%s", diff)
	}
	if d := gpttest.Relative(using(t, packed, nil), base, 0); !(d <= 1e-5) || gpttest.Relative(base, want, 0) < 0.01 {
		t.Errorf("without the adapter: off by %.2g of the base's logits", d)
	}
	gpttest.MustContain(t, packed.Unmerge(a), "its weights are packed")
	_, err := packed.Plain(1)
	gpttest.MustContain(t, err, "its weights are packed")
	c.LoraR = 64 // large enough to be packed too
	gpttest.MustContain(
		t, gpttest.Packed(t, scrambledLike(t, c), stored.BF16).Use(nil),
		"adapter: model: its weights are packed, ", "lora_",
	)
}

// A model with an adapter has dropout if its base has it: the base of a checkpoint has none until training begins.
func TestAdaptedHasTheDropoutOfItsBase(t *testing.T) {
	c := lora(2, 3)
	a := adapterFolder(t, scrambled(t, c))
	c = gpttest.Tiny()
	c.Dropout = 0.5
	base := scrambled(t, c)
	for _, training := range []bool{true, false} {
		base.Graph.SetTraining(training)
		m := adapted(t, base, a)
		for _, m := range []*gpt.Model{m, plain(t, m)} {
			p, err := graph.Compile(m.Logits)
			if err != nil {
				t.Fatal(err)
			}
			var runs [2][]float64
			for i := range runs {
				m.Graph.SetStep(uint64(i))
				if err := p.Run(); err != nil {
					t.Fatal(err)
				}
				runs[i] = p.Value().Floats()
			}
			if got := !cmp.Equal(runs[0], runs[1]); got != training {
				t.Errorf("training %t, lora_r %d: got dropout %t", training, m.Config.LoraR, got)
			}
		}
	}
}

func plain(t testing.TB, m *gpt.Model) *gpt.Model {
	t.Helper()
	without, err := m.Plain(1)
	if err != nil {
		t.Fatal(err)
	}
	return without
}

// scrambledLike returns a float32 model with numbers in its adapters.
func scrambledLike(t testing.TB, c gpt.Config) *gpt.Model {
	t.Helper()
	m := gpttest.Model(t, c)
	gpttest.Scramble(m.Params(), 7)
	return m
}

// peftTensor returns a tensor of an adapter with numbers that follow from its name, around a mean.
func peftTensor(name string, mean float64, shape ...int) safetensors.Tensor {
	n := 1
	for _, size := range shape {
		n *= size
	}
	x := safetensors.Tensor{Name: "base_model.model." + name, Shape: shape, F32: make([]float32, n)}
	for i := range x.F32 {
		x.F32[i] = float32(mean + 0.3*math.Cos(float64(len(name)+3*i)))
	}
	return x
}

// writePEFT writes a folder of PEFT and opens it.
func writePEFT(t *testing.T, config string, tensors ...safetensors.Tensor) (*Adapter, error) {
	t.Helper()
	dir := t.TempDir()
	file := gpttest.Written(t, func(w *bytes.Buffer) error { return safetensors.Write(w, tensors, nil) })
	for name, data := range map[string][]byte{
		"adapter_config.json": []byte(config), "adapter_model.safetensors": file,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Open(dir)
}

// Merging equals a change of the published folder, for matrices in any layout: with DoRA the rows of W + s·B·A get the
// lengths of the file, and tensors of modules_to_save replace tensors of the base.
func TestMergeAdapter(t *testing.T) {
	for _, tc := range []struct {
		network, scale string
		adapted        map[string][2]int // (out, in)
		saved          map[string][]int
	}{
		{"gpt2", `"lora_alpha": 3, "r": 2, "fan_in_fan_out": true`,
			map[string][2]int{"transformer.h.0.attn.c_attn": {48, 16}, "transformer.h.1.mlp.c_proj": {16, 24}},
			map[string][]int{"transformer.wpe.weight": {8, 16}}},
		{"phi3", `"lora_alpha": 3, "r": 2, "use_rslora": true, "alpha_pattern": {"gate_up_proj": 5}`,
			map[string][2]int{
				"model.layers.0.self_attn.qkv_proj": {64, 24}, "model.layers.1.mlp.gate_up_proj": {48, 24},
			},
			map[string][]int{"lm_head.weight": {41, 24}}},
		{"llama, groups", `"lora_alpha": 3, "r": 2`,
			map[string][2]int{"model.layers.0.self_attn.q_proj": {24, 24}, "model.layers.0.self_attn.k_proj": {12, 24}},
			map[string][]int{"model.layers.1.self_attn.v_proj.weight": {12, 24}, "model.norm.weight": {24}}},
		{"gemma", `"lora_alpha": 3, "r": 2`, map[string][2]int{"model.layers.0.mlp.down_proj": {24, 24}},
			map[string][]int{"model.layers.1.input_layernorm.weight": {24}}},
	} {
		c := gpttest.Networks()[tc.network]
		if tc.network == "gpt2" {
			c.NInner = 24
		}
		m, err := gpt.New(gpttest.Graph(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		m.Graph.SetTraining(false)
		gpttest.Scramble(m.Params(), 9)
		before, dir := gpttest.Logits(t, m), gpttest.Exported(t, m, nil, safetensors.F32)
		path := filepath.Join(dir, "model.safetensors")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, meta, err := safetensors.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		var tensors []safetensors.Tensor
		published := func(name string) *safetensors.Tensor { // in the folder of the model
			i := slices.IndexFunc(file, func(x safetensors.Tensor) bool {
				return x.Name == name || "transformer."+x.Name == name
			})
			if i < 0 {
				t.Fatalf("%s: no tensor %s", tc.network, name)
			}
			return &file[i]
		}
		for name, shape := range tc.adapted {
			out, in := shape[0], shape[1]
			a, b := peftTensor(name+".lora_A.weight", 0, 2, in), peftTensor(name+".lora_B.weight", 0, out, 2)
			lengths := peftTensor(name+".lora_magnitude_vector", 1.5, out)
			tensors = append(tensors, a, b, lengths)
			scale := 1.5
			if tc.network == "phi3" {
				if scale = 3 / math.Sqrt2; strings.Contains(name, "gate_up") {
					scale = 5 / math.Sqrt2
				}
			}
			w := published(name + ".weight")
			at := func(row, column int) *float32 {
				if tc.network == "gpt2" { // (in, out)
					return &w.F32[column*out+row]
				}
				return &w.F32[row*in+column]
			}
			for row := range out {
				v, sum := make([]float64, in), 0.0
				for i := range v {
					v[i] = float64(*at(row, i))
					for k := range 2 {
						v[i] += scale * float64(b.F32[2*row+k]) * float64(a.F32[k*in+i])
					}
					sum += v[i] * v[i]
				}
				for i := range v {
					*at(row, i) = float32(v[i] / math.Sqrt(sum) * float64(lengths.F32[row]))
				}
			}
		}
		var modules []string
		for name, shape := range tc.saved {
			x := peftTensor(name, 0, shape...)
			tensors, published(name).F32 = append(tensors, x), x.F32
			words := strings.Split(name, ".")
			modules = append(modules, `"`+words[len(words)-2]+`"`)
		}
		a, err := writePEFT(t, `{"peft_type": "LORA", "auto_mapping": null, "use_dora": true, "target_modules": "all-linear", `+tc.scale+
			`, "modules_to_save": [`+strings.Join(modules, ", ")+`]}`, tensors...)
		if err != nil {
			t.Fatalf("%s: %v", tc.network, err)
		}
		if err := Merge(m, a); err != nil {
			t.Fatalf("%s: %v", tc.network, err)
		}
		changed := gpttest.Written(t, func(w *bytes.Buffer) error { return safetensors.Write(w, file, meta) })
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		want := loadedFrom(t, dir)
		if d := gpttest.Relative(gpttest.Logits(t, m), gpttest.Logits(t, want), 0); !(d <= 1e-5) ||
			!(gpttest.Relative(before, gpttest.Logits(t, want), 0) > 0.01) {
			t.Errorf("%s: the logits are %.1e off", tc.network, d)
		}
		_, err = Adapted(m, 1, a)
		if gpttest.MustContain(t, err, "use_dora: got a folder with it", "Merge merges it"); !a.Replaces() {
			t.Errorf("%s: the adapter replaces nothing", tc.network)
		}
	}
}

// loadedFrom returns the model of a folder without a tokenizer.
func loadedFrom(t *testing.T, dir string) *gpt.Model {
	t.Helper()
	cp, err := published.Load(dir, published.Fits())
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Close()
	s, err := published.SourceOf(cp)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Model(gpttest.Graph())
	if err != nil {
		t.Fatal(err)
	}
	m.Graph.SetTraining(false)
	return m
}

// A plain adapter is merged as Use and Merge do it. What does not fit changes nothing.
func TestMergeAdapterRefuses(t *testing.T) {
	a := adapterFolder(t, scrambled(t, lora(2, 3)))
	m, with := scrambled(t, gpttest.Tiny()), adapted(t, scrambled(t, gpttest.Tiny()), a)
	want := using(t, with, a)
	if err := Merge(m, a); err != nil || !(gpttest.Relative(logitsAfter(t, m), want, 0) <= 1e-12) || a.Replaces() {
		t.Errorf("the sum is another, %v", err)
	}
	before := logitsAfter(t, m)
	gpttest.MustContain(t, Merge(with, a), "lora_r: got a model of ")
	gpttest.MustContain(t, Merge(m, nil), "got none, want one from Open")
	gpttest.MustContain(t, Merge(nil, a), "model: got nil")
	const config = `{"peft_type": "LORA", "target_modules": "all-linear", "lora_alpha": 3, "r": 2`
	const c = "transformer.h.0.attn.c_attn"
	down, up := peftTensor(c+".lora_A.weight", 0, 2, 16), peftTensor(c+".lora_B.weight", 0, 34, 2)
	bad := peftTensor("transformer.ln_f.weight", 1, 16)
	bad.F32[3] = float32(math.NaN())
	for _, tc := range []struct {
		config  string
		tensors []safetensors.Tensor
		want    string
	}{
		{`, "use_dora": true`, nil, "got 0 lengths, want 34"},
		{`, "use_dora": true`, []safetensors.Tensor{peftTensor(c+
			".lora_magnitude_vector", 1, 33)}, "got 33 lengths, want 34"},
		{`, "use_dora": true`, []safetensors.Tensor{peftTensor(c+
			".lora_magnitude_vector", 1, 34, 1)}, "got shape [34 1], want a length for every row"},
		{``, []safetensors.Tensor{peftTensor(c+".lora_magnitude_vector", 1, 34)}, "want names such as"},
		{``, []safetensors.Tensor{peftTensor("transformer.ln_f.weight", 1, 16)}, "want names such as"},
		{
			`, "modules_to_save": ["f"]`, []safetensors.Tensor{peftTensor("transformer.ln_f.weight", 1, 16)},
			"want names such as",
		},
		{
			`, "modules_to_save": ["ln_f"]`, []safetensors.Tensor{peftTensor("transformer.ln_f.weight", 1, 17)},
			"ln_f.weight has shape [17] in the file, [16] in the model",
		},
		{`, "modules_to_save": ["ln_f"]`, []safetensors.Tensor{bad}, "ln_f.weight: entry 3 is NaN"},
		{
			`, "modules_to_save": ["ln_g"]`, []safetensors.Tensor{peftTensor("transformer.ln_g.weight", 1, 16)},
			"the file has ln_g.weight, the model does not",
		},
		{`, "modules_to_save": ["lm_head"]`, []safetensors.Tensor{peftTensor("lm_head.weight", 1, 11, 16)}, ""},
	} {
		a, err := writePEFT(t, config+tc.config+"}", append(tc.tensors, down, up)...)
		m := m
		if tc.want == "" {
			tied := gpttest.Tiny()
			tied.Head, tc.want = "tied", "lm_head.weight: got a head, want none"
			m = scrambled(t, tied)
		}
		if err == nil {
			err = Merge(m, a)
		}
		gpttest.MustContain(t, err, tc.want)
	}
	if got := logitsAfter(t, m); !cmp.Equal(got, before) {
		t.Error("an adapter that does not fit has changed the model")
	}
}

// An adapter that has not been merged cannot be unmerged: one that was never used, one that was used but not merged,
// one that was trained since, and the same one twice. The weights do not change.
func TestUnmergeRefuses(t *testing.T) {
	a := adapterFolder(t, scrambled(t, lora(2, 3)))
	for name, do := range map[string]func(m *gpt.Model){
		"never used": func(*gpt.Model) {},
		"not merged": func(m *gpt.Model) { m.Use(a) },
		"trained": func(m *gpt.Model) {
			m.Use(a)
			m.Adapters()[0].Adapters[0].Up.Tensor().Set(0, 3)
			m.Merge()
		},
		"the base": func(m *gpt.Model) { m.Use(a); m.Use(nil); m.Merge() },
		"twice":    func(m *gpt.Model) { m.Use(a); m.Merge(); m.Merge(); check(t, m.Unmerge(a)) },
		"read": func(m *gpt.Model) {
			m.Use(a)
			m.Merge()
			var b bytes.Buffer
			check(t, m.WriteWeights(&b))
			check(t, m.ReadWeights(b.Bytes()))
		},
	} {
		m := adapted(t, scrambled(t, gpttest.Tiny()), a)
		do(m)
		before := weights(m)
		gpttest.MustContain(t, m.Unmerge(a), "adapter: it is not merged into the weights of this model")
		if !bytes.Equal(weights(m), before) {
			t.Errorf("%s: the weights have changed", name)
		}
	}
}

func weights(m *gpt.Model) []byte {
	var b bytes.Buffer
	m.WriteWeights(&b)
	return b.Bytes()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// claiming writes a safetensors file of these tensors, whose numbers are a hole of the claimed size.
func claiming(t *testing.T, path string, shapes map[string][]int) {
	t.Helper()
	var header []string
	end := 0
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		begin, shape := end, shapes[name]
		end += 4 * shape[0] * shape[1]
		header = append(
			header,
			fmt.Sprintf(
				`%q: {"dtype": "F32", "shape": [%d, %d], "data_offsets": [%d, %d]}`, name, shape[0], shape[1], begin,
				end,
			),
		)
	}
	all := "{" + strings.Join(header, ",") + "}"
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(all))), all...)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(data)+end)); err != nil {
		t.Skip("this file system has no files with holes:", err)
	}
}

// A folder that claims an excessive size is refused before memory is allocated for it.
func TestClaimedSizes(t *testing.T) {
	m := scrambled(t, gpttest.Tiny())
	tuned := scrambled(t, lora(2, 3, "c_attn"))
	adapter := func(shapes map[string][]int, rank int) func(dir string) error {
		return func(dir string) error {
			dir = filepath.Join(dir, "adapter")
			if err := Save(dir, tuned, "base"); err != nil {
				return err
			}
			config, err := os.ReadFile(filepath.Join(dir, "adapter_config.json"))
			if err != nil {
				return err
			}
			config = []byte(strings.Replace(string(config), `"r": 6`, fmt.Sprintf(`"r": %d`, rank), 1))
			if err := os.WriteFile(filepath.Join(dir, "adapter_config.json"), config, 0o644); err != nil {
				return err
			}
			claiming(t, filepath.Join(dir, "adapter_model.safetensors"), shapes)
			a, err := Open(dir)
			if err != nil {
				return err
			}
			_, err = Adapted(m, 1, a)
			return err
		}
	}
	const q = "base_model.model.transformer.h.0.attn.c_attn.lora_"
	c := m.Config.Resolved()
	width, in := 2*c.NHead*c.QKSize+c.NHead*c.VSize, c.NEmbd
	for want, open := range map[string]func(dir string) error{
		"got one for a matrix (1000000000,": adapter(map[string][]int{q + "A.weight": {6, 1_000_000_000}, q +
			"B.weight": {1_000_000_000, 6}}, 6),
		"r: got 100000000, want at most 4096": adapter(map[string][]int{
			q + "A.weight": {100_000_000, in}, q + "B.weight": {width, 100_000_000}}, 100_000_000),
	} {
		gpttest.Frugal(t, open, want)
	}
}

// fan_in_fan_out is true if the base stores a matrix as (in, out), like GPT-2's Conv1D, and false for (out, in), like a
// Linear of LLaMA. It is the same after saving and opening.
func TestFanInFanOut(t *testing.T) {
	llama := smallLLaMA()
	llama.LoraR, llama.LoraAlpha, llama.LoraTargets = 2, 3, []string{"attn.c_attn"}
	for name, test := range map[string]struct {
		config gpt.Config
		want   bool
	}{"gpt2": {lora(2, 3, "c_attn"), true}, "llama": {llama, false}} {
		if got := adapterFolder(t, scrambled(t, test.config)).folder.FanIn; got != test.want {
			t.Errorf("%s: fan_in_fan_out: got %t, want %t", name, got, test.want)
		}
	}
}
