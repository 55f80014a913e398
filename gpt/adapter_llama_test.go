package gpt

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/peft"
)

// smallLLaMA has 4 heads of queries and 2 of keys and values, with 6 features each.
func smallLLaMA() Config {
	c := tiny()
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
	c := peft.Config{Rank: 2, Alpha: 3, Targets: []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}}
	var list []peft.Matrix
	for _, block := range []string{"0", "1"} {
		for n, place := range places {
			p, _ := plain.Graph.Leaf("h." + block + "." + place.ours + ".weight")
			w := p.Tensor()
			m := peft.Matrix{Name: "model.layers." + block + "." + place.theirs, A: make([]float32, 2*w.Shape[0]), B: make([]float32, place.rows*2)}
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
	a, err := OpenAdapter(dir)
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
				w.Set(at, w.At(at)+1.5*(float64(m.B[2*row])*float64(m.A[in])+float64(m.B[2*row+1])*float64(m.A[w.Shape[0]+in])))
			}
		}
	}
	want := logitsAfter(t, plain)
	if d := relative(got, want, 0); !(d < 1e-12) || !(relative(before, want, 0) > 1e-3) {
		t.Errorf("%v off, the base is %v off", d, relative(before, want, 0))
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
	some, err := OpenAdapter(dir)
	if err != nil {
		t.Fatal(err)
	}
	with = adapted(t, scrambled(t, smallLLaMA()), some)
	if got := using(t, with, some); cmp.Equal(got, before) || with.Config.LoraR != 2 || !cmp.Equal(with.Config.LoraTargets, []string{"attn.c_attn"}) {
		t.Errorf("queries and values: rank %d of %v", with.Config.LoraR, with.Config.LoraTargets)
	}
	both := adapted(t, scrambled(t, smallLLaMA()), a, some)
	if d := relative(using(t, both, some), using(t, with, some), 0); !(d < 1e-12) {
		t.Errorf("beside another: %v off", d)
	}
}
