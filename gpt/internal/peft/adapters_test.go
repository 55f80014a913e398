package peft

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

const inputs = 5 // of each matrix of layersOf

// layersOf returns adapters of rank r for matrices with one, two and three blocks of columns. Their numbers are all
// different, except that u has zeros in the first column of one rank and in the last column of the others.
func layersOf(r int) (list []*nn.LoRA) {
	s := graph.New(graph.Float64, 1).Root()
	adapted := nn.NewLoRA(func(string) bool { return true }, r, 1)
	x := 0.0
	for _, m := range []struct {
		name string
		out  []int
	}{
		{"h.0.attn.c_attn", []int{8, 4, 4}}, {"h.0.attn.c_kv", []int{2, 6}}, {"h.0.mlp.c_fc", []int{9}},
		{"lm_head", []int{7}},
	} {
		l := adapted(s.Sub("%s", m.name), inputs, m.out, false, graph.Const(0)).(*nn.LoRA)
		for _, a := range l.Adapters {
			d, u := a.Down.Tensor(), a.Up.Tensor()
			for i := range d.Len() {
				x++
				d.Set(i, x/8)
			}
			for i := range u.Len() {
				x++
				u.Set(i, -x/4)
			}
			for k := range r {
				zero := a.To - a.From - 1
				if k == r-1 {
					zero = 0
				}
				u.Set(k*(a.To-a.From)+zero, 0)
			}
		}
		list = append(list, l)
	}
	return list
}

// family returns the layout of a family with two heads of queries and, except in GPT-2 and GPT-NeoX, one of keys and
// values.
func family(t testing.TB, modelType string) published.Layout {
	t.Helper()
	keys := `"hidden_size": 8, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 4, "num_hidden_layers": 1`
	switch modelType {
	case "gpt2":
		keys = `"n_embd": 8, "n_head": 2, "n_layer": 1`
	case "gpt_neox":
		keys = `"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "rotary_pct": 0.5`
	case "phi3":
		keys = `"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 1,
			"partial_rotary_factor": 0.5`
	}
	c, err := published.ReadConfig([]byte(`{"model_type": "` + modelType + `", ` + keys + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return published.LayoutOf(c)
}

// collected is a matrix of a family: our layer, and our columns in the order of its rows; nil means all of them.
type collected struct {
	name    string
	layer   int
	columns []int
}

// ofGPT2 has all blocks of a layer in one matrix.
var ofGPT2 = []collected{
	{"transformer.h.0.attn.c_attn", 0, nil}, {"transformer.h.0.attn.c_kv", 1, nil},
	{"transformer.h.0.mlp.c_fc", 2, nil}, {"lm_head", 3, nil},
}

// ofLLaMA has queries, keys and values apart, with the halves of each head one after the other, and no c_kv.
var ofLLaMA = []collected{
	{"model.layers.0.self_attn.q_proj", 0, []int{0, 2, 1, 3, 4, 6, 5, 7}},
	{"model.layers.0.self_attn.k_proj", 0, []int{8, 10, 9, 11}},
	{"model.layers.0.self_attn.v_proj", 0, []int{12, 13, 14, 15}},
	{"model.layers.0.mlp.up_proj", 1, nil}, {"lm_head", 2, nil},
}

// A folder's matrices compute the same function as our adapters.
func TestCollect(t *testing.T) {
	all := layersOf(2)
	for _, c := range []struct {
		family string
		layers []*nn.LoRA
		rank   int
		fanIn  bool
		want   []collected
	}{{"gpt2", all, 6, true, ofGPT2}, {"llama", slices.Delete(slices.Clone(all), 1, 2), 2, false, ofLLaMA}} {
		layers := c.layers
		got, rank, fanIn, err := Collect(Group(layers, family(t, c.family)), 2)
		if err != nil || rank != c.rank || fanIn != c.fanIn || len(got) != len(c.want) {
			t.Fatalf("%s: got rank %d, fan_in_fan_out %t and %d matrices, %v, want %d, %t and %d",
				c.family, rank, fanIn, len(got), err, c.rank, c.fanIn, len(c.want))
		}
		for i, want := range c.want {
			if got[i].Name != want.name {
				t.Errorf("got %s, want %s", got[i].Name, want.name)
			}
			if diff := cmp.Diff(change(layers[want.layer], want.columns), product(got[i], rank)); diff != "" {
				t.Errorf("%s: -ours +matrix:\n%s", want.name, diff)
			}
		}
	}
}

// A matrix of a family that holds several of ours has their rows in the family's order: GPT-NeoX's heads one after
// another, and in Phi-3 both inputs of the MLP.
func TestCollectFused(t *testing.T) {
	layer := func(name string, out ...int) *nn.LoRA {
		adapted := nn.NewLoRA(func(string) bool { return true }, 2, 1)
		l := adapted(graph.New(graph.Float64, 1).Root().Sub("%s", name), inputs, out, false, graph.Const(0)).(*nn.LoRA)
		for i, a := range l.Adapters {
			for at := range a.Down.Tensor().Len() {
				a.Down.Tensor().Set(at, float64(at+i+len(name))/8)
			}
			for at := range a.Up.Tensor().Len() {
				a.Up.Tensor().Set(at, float64(3*at+i-len(name))/4)
			}
		}
		return l
	}
	mlp := []*nn.LoRA{layer("h.0.mlp.c_gate", 9), layer("h.0.mlp.c_fc", 9)}
	for _, c := range []struct {
		family string
		layers []*nn.LoRA
		name   string
		rank   int
		rows   []int // our columns, of all layers one after another
	}{
		{"gpt_neox", []*nn.LoRA{layer("h.0.attn.c_attn", 16, 16, 16)}, "gpt_neox.layers.0.attention.query_key_value", 6,
			[]int{0, 2, 1, 3, 4, 5, 6, 7, 16, 18, 17, 19, 20, 21, 22, 23, 32, 33, 34, 35, 36, 37, 38, 39,
				8, 10, 9, 11, 12, 13, 14, 15, 24, 26, 25, 27, 28, 29, 30, 31, 40, 41, 42, 43, 44, 45, 46, 47}},
		{"gpt_neox", []*nn.LoRA{layer("h.0.attn.c_attn", 48)}, "gpt_neox.layers.0.attention.query_key_value", 2,
			[]int{0, 2, 1, 3, 4, 5, 6, 7, 16, 18, 17, 19, 20, 21, 22, 23, 32, 33, 34, 35, 36, 37, 38, 39,
				8, 10, 9, 11, 12, 13, 14, 15, 24, 26, 25, 27, 28, 29, 30, 31, 40, 41, 42, 43, 44, 45, 46, 47}},
		{"gpt_neox", []*nn.LoRA{layer("lm_head", 7)}, "embed_out", 2, []int{0, 1, 2, 3, 4, 5, 6}},
		{"phi3", []*nn.LoRA{layer("h.0.attn.c_attn", 16, 8, 8)}, "model.layers.0.self_attn.qkv_proj", 6,
			[]int{0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15, 16, 18, 17, 19, 20, 21, 22, 23,
				24, 25, 26, 27, 28, 29, 30, 31}},
		{"phi3", mlp, "model.layers.0.mlp.gate_up_proj", 4, nil},
	} {
		layout := family(t, c.family)
		list := Group(c.layers, layout)
		got, rank, _, err := Collect(list, 2)
		if err != nil || len(got) != 1 || got[0].Name != c.name || rank != c.rank {
			t.Fatalf("got %d matrices, rank %d, %v, want %s with rank %d", len(got), rank, err, c.name, c.rank)
		}
		var all [][]float64
		for _, l := range c.layers {
			all = append(all, change(l, nil)...)
		}
		want := all
		if c.rows != nil {
			want = nil
			for _, row := range c.rows {
				want = append(want, all[row])
			}
		}
		if diff := cmp.Diff(want, product(got[0], rank)); diff != "" {
			t.Errorf("%s: -ours +matrix:\n%s", c.name, diff)
		}
		ours := strings.TrimSuffix(strings.TrimPrefix(c.layers[0].Base.Weight.Name(), "h.0."), ".weight")
		targets := TargetModules([]string{ours}, []string{"attn.c_attn", "mlp.c_gate", "mlp.c_fc", "lm_head"}, layout)
		before := layersNumbers(c.layers)
		f := reopened(t, Config{Rank: rank, Alpha: 1, Targets: targets}, got)
		pairs, err := f.Pairs(list, 2)
		if err != nil {
			t.Fatalf("%s, with target_modules %v: %v", c.name, targets, err)
		}
		cleared(c.layers)
		for _, p := range pairs {
			p.Set(1)
		}
		if diff := cmp.Diff(before, layersNumbers(c.layers)); diff != "" {
			t.Errorf("%s: -written +read:\n%s", c.name, diff)
		}
		if c.rows == nil {
			continue
		}
		// Earlier versions wrote our order, and no auto_mapping.
		early := Matrix{got[0].Name, got[0].A, make([]float32, len(got[0].B)), nil}
		for row, column := range c.rows {
			copy(early.B[column*rank:(column+1)*rank], got[0].B[row*rank:])
		}
		f = reopened(t, Config{Rank: rank, Alpha: 1, Targets: targets}, []Matrix{early})
		if f.early {
			t.Error("a folder of today is taken for one of an earlier version")
		}
		f.early = true
		if pairs, err = f.Pairs(list, 2); err != nil {
			t.Fatal(err)
		}
		cleared(c.layers)
		for _, p := range pairs {
			p.Set(1)
		}
		if diff := cmp.Diff(before, layersNumbers(c.layers)); diff != "" {
			t.Errorf("%s, of an earlier version: -written +read:\n%s", c.name, diff)
		}
	}
}

// layersNumbers returns the numbers of all adapters.
func layersNumbers(layers []*nn.LoRA) (list [][]float64) {
	for _, l := range layers {
		for _, a := range l.Adapters {
			list = append(list, a.Down.Tensor().Floats(), a.Up.Tensor().Floats())
		}
	}
	return list
}

// change returns (d·u)ᵀ, with the columns of all adapters, or the given ones, as its rows.
func change(l *nn.LoRA, columns []int) [][]float64 {
	var all [][]float64
	for _, a := range l.Adapters {
		d, u := a.Down.Tensor(), a.Up.Tensor()
		r, cols := d.Shape[1], u.Shape[1]
		for col := range cols {
			row := make([]float64, inputs)
			for i := range row {
				for k := range r {
					row[i] += d.At(i*r+k) * u.At(k*cols+col)
				}
			}
			all = append(all, row)
		}
	}
	if columns == nil {
		return all
	}
	var chosen [][]float64
	for _, column := range columns {
		chosen = append(chosen, all[column])
	}
	return chosen
}

// product returns B·A. The sums are exact: the numbers are small multiples of 1/8.
func product(m Matrix, r int) (rows [][]float64) {
	for out := range len(m.B) / r {
		row := make([]float64, inputs)
		for i := range row {
			for k := range r {
				row[i] += float64(m.B[out*r+k]) * float64(m.A[k*inputs+i])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// A number that is not finite is an error that names its parameter.
func TestCollectRefuses(t *testing.T) {
	for name, of := range map[string]func(a nn.Adapter) graph.Expr{
		"h.0.attn.c_kv.v.lora_d: entry 3 is NaN": func(a nn.Adapter) graph.Expr { return a.Down },
		"h.0.attn.c_kv.v.lora_u: entry 3 is NaN": func(a nn.Adapter) graph.Expr { return a.Up },
	} {
		layers := layersOf(2)
		of(layers[1].Adapters[1]).Tensor().Set(3, math.NaN())
		_, _, _, err := Collect(Group(layers, family(t, "gpt2")), 2)
		wantError(t, err, "adapter: "+name)
	}
}
