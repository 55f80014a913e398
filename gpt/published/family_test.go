package published

import (
	"strings"
	"testing"
)

// TestFieldBorders checks that the keys of a published network have the ranges of this library's fields.
func TestFieldBorders(t *testing.T) {
	file := gpt2().file()
	for names, values := range map[string][2]string{
		"vocab_size n_positions n_ctx n_embd n_layer n_head": {"1 268435456", "0 -1 268435457"},
		"n_inner":                           {"1 268435456", "0 -1 268435457"},
		"resid_pdrop embd_pdrop attn_pdrop": {"0 0.5", "-0.5 1"}, "layer_norm_epsilon": {"1e-9 0.5", "0 -0.5 1"},
	} {
		for _, name := range strings.Fields(names) {
			f, found := file.Find(name)
			for i, list := range values {
				for _, v := range strings.Fields(list) {
					if err := f.Decode([]byte(v)); !found || err != nil || (f.Check() == nil) != (i == 0) {
						t.Errorf("%s of %s: got %v, %v", name, v, err, f.Check())
					}
				}
			}
		}
	}
}

// TestHarmlessKeys checks that no key is harmless for two reasons, or harmless although a family reads it.
func TestHarmlessKeys(t *testing.T) {
	seen := map[string]string{}
	for reason, keys := range harmlessKeys() {
		for _, key := range keys {
			if seen[key] != "" {
				t.Errorf("%s: %s, and %s", key, reason, seen[key])
			}
			seen[key] = reason
			for _, f := range families() {
				if f.index(key) >= 0 || listed(f.harmless, key) {
					t.Errorf("%s is on a list of %s, and harmless: %s", key, f.modelType, reason)
				}
			}
		}
	}
}
