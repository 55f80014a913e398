package peft

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var matrices = []string{"attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"}

// A target names our matrices by an ending of the family's names.
func TestLoRATargets(t *testing.T) {
	for _, c := range []struct{ modelType, targets, want string }{
		{"gpt2", "c_attn", "attn.c_attn"},
		{"gpt2", "c_proj", "attn.c_proj mlp.c_proj"},
		{"gpt2", "mlp.c_proj c_fc", "mlp.c_fc mlp.c_proj"},
		{"llama", "q_proj v_proj", "attn.c_attn"},
		{"llama", "up_proj o_proj", "attn.c_proj mlp.c_fc"},
	} {
		got, err := Config{Targets: strings.Fields(c.targets)}.LoRATargets(matrices, family(t, c.modelType))
		if diff := cmp.Diff(strings.Fields(c.want), got); err != nil || diff != "" {
			t.Errorf("%s, %s: %v, -want +got:\n%s", c.modelType, c.targets, err, diff)
		}
	}
	_, err := Config{Targets: []string{"c_fc", "w_1"}}.LoRATargets(matrices, family(t, "gpt2"))
	wantError(
		t, err, "target_modules: got w_1, want endings of transformer.h.0.attn.c_attn, transformer.h.0.attn.c_proj, ",
	)
}

// The target_modules of a folder are our targets, or the family's names of their matrices, each once.
func TestTargetModules(t *testing.T) {
	for _, c := range []struct{ modelType, targets, want string }{
		{"gpt2", "c_attn", "c_attn"},
		{"gpt2", "c_proj", "c_proj"},
		{"gpt2", "attn.c_proj mlp.c_fc", "attn.c_proj mlp.c_fc"},
		{"llama", "c_attn", "q_proj k_proj v_proj"},
		{"llama", "mlp.c_proj c_proj", "down_proj o_proj"},
	} {
		got := TargetModules(strings.Fields(c.targets), matrices, family(t, c.modelType))
		if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
			t.Errorf("%s, %s: -want +got:\n%s", c.modelType, c.targets, diff)
		}
	}
}
