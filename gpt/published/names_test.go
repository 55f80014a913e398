package published

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pieces of c_attn are its columns, each once: for every head, first the first features of the pairs, then the
// second ones.
func TestPieces(t *testing.T) {
	list := llama().names.pieces("h.12.attn.c_attn.weight", heads{Queries: 4, Groups: 2, QK: 6, V: 5, Rotary: 6})
	var all []int
	for i, name := range []string{"q", "k", "v"} {
		if got := list[i]; got.name != "layers.12.self_attn."+name+"_proj.weight" || !got.turned {
			t.Errorf("got %s, turned %t", got.name, got.turned)
		}
		all = append(all, list[i].columns...)
	}
	if want := []int{24, 26, 28, 25, 27, 29, 30, 32, 34, 31, 33, 35}; !slices.Equal(list[1].columns, want) {
		t.Errorf("k: got columns %v, want %v", list[1].columns, want)
	}
	if want := []int{36, 37, 38, 39, 40, 41, 42, 43, 44, 45}; !slices.Equal(list[2].columns, want) {
		t.Errorf("v: got columns %v, want %v", list[2].columns, want)
	}
	slices.Sort(all)
	for i, column := range all {
		if i != column || len(all) != 46 {
			t.Fatalf("got %d columns, want each of 46 once: %v", len(all), all)
		}
	}
	bias := llama().names.pieces("h.0.attn.c_attn.bias", heads{2, 1, 2, 2, 2})
	if len(bias) != 3 || bias[0].turned || bias[1].name != "layers.0.self_attn.k_proj.bias" {
		t.Errorf("biases: got %v", bias)
	}
}

// Names without a rule are ours. Prefixes are removed and added, and buffers are skipped.
func TestNames(t *testing.T) {
	g, l := gpt2().names, llama().names
	for _, c := range []struct{ got, want string }{
		{g.pieces("h.3.attn.c_attn.weight", heads{})[0].name, "h.3.attn.c_attn.weight"},
		{g.plain("transformer.wte.weight"), "wte.weight"},
		{g.plain("wte.weight"), "wte.weight"}, {g.file("wte.weight"), "wte.weight"},
		{l.plain("model.norm.weight"), "norm.weight"}, {l.file("norm.weight"), "model.norm.weight"},
		{l.file(HeadWeight), HeadWeight}, {l.plain(HeadWeight), HeadWeight},
		{l.pieces("h.10.ln_2.weight", heads{})[0].name, "layers.10.post_attention_layernorm.weight"},
		{l.pieces("h.1.mine", heads{})[0].name, "h.1.mine"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if len(g.pieces("wte.weight", heads{})) != 1 || !g.pieces(HeadWeight, heads{})[0].turned ||
		l.pieces("wte.weight", heads{})[0].turned {
		t.Error("a matrix lies the wrong way round")
	}
	for name, want := range map[string]bool{
		"h.0.attn.bias": true, "h.11.attn.masked_bias": true, "h.0.attn.c_attn.bias": false, "ln_f.bias": false,
		"x.attn.bias": false,
	} {
		if g.skipped(name) != want {
			t.Errorf("%s: got skipped %t, want %t", name, !want, want)
		}
	}
	if !l.skipped("layers.0.self_attn.rotary_emb.inv_freq") || l.skipped("layers.0.self_attn.q_proj.weight") {
		t.Error("LLaMA: the wrong tensors are passed over")
	}
}

// The complete table of LLaMA: every parameter is one tensor, or three, and matrices are transposed.
func TestLLaMATensors(t *testing.T) {
	h := heads{Queries: 2, Groups: 1, QK: 2, V: 2, Rotary: 2}
	got := map[string]string{}
	for _, name := range []string{
		"wte.weight", "h.7.ln_1.weight", "h.7.attn.c_attn.weight", "h.7.attn.c_attn.bias", "h.7.attn.c_proj.weight",
		"h.7.ln_2.weight",
		"h.7.mlp.c_gate.weight", "h.7.mlp.c_fc.weight", "h.7.mlp.c_proj.weight", "ln_f.weight", "lm_head.weight",
	} {
		for _, p := range llama().names.pieces(name, h) {
			got[p.name] = fmt.Sprint(name, " ", p.turned, " ", p.columns)
		}
	}
	want := map[string]string{
		"embed_tokens.weight": "wte.weight false []", "norm.weight": "ln_f.weight false []",
		"lm_head.weight":                           "lm_head.weight true []",
		"layers.7.input_layernorm.weight":          "h.7.ln_1.weight false []",
		"layers.7.post_attention_layernorm.weight": "h.7.ln_2.weight false []",
		"layers.7.self_attn.q_proj.weight":         "h.7.attn.c_attn.weight true [0 1 2 3]",
		"layers.7.self_attn.k_proj.weight":         "h.7.attn.c_attn.weight true [4 5]",
		"layers.7.self_attn.v_proj.weight":         "h.7.attn.c_attn.weight true [6 7]",
		"layers.7.self_attn.o_proj.weight":         "h.7.attn.c_proj.weight true []",
		"layers.7.self_attn.q_proj.bias":           "h.7.attn.c_attn.bias false [0 1 2 3]",
		"layers.7.self_attn.k_proj.bias":           "h.7.attn.c_attn.bias false [4 5]",
		"layers.7.self_attn.v_proj.bias":           "h.7.attn.c_attn.bias false [6 7]",
		"layers.7.mlp.gate_proj.weight":            "h.7.mlp.c_gate.weight true []",
		"layers.7.mlp.up_proj.weight":              "h.7.mlp.c_fc.weight true []",
		"layers.7.mlp.down_proj.weight":            "h.7.mlp.c_proj.weight true []",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
