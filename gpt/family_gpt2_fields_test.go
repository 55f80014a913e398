package gpt

import (
	"strings"
	"testing"
)

// The keys of a published network have the ranges of this library's fields.
func TestHuggingFaceFieldBorders(t *testing.T) {
	h := plainGPT2()
	for names, values := range map[string][2]string{
		"vocab_size n_positions n_ctx n_embd n_layer n_head": {"1 268435456", "0 -1 268435457"},
		"n_inner": {"0 268435456", "-1 268435457"},
		"resid_pdrop embd_pdrop attn_pdrop layer_norm_epsilon": {"0 0.5", "-0.5 1"},
	} {
		for _, name := range strings.Fields(names) {
			f, found := h.fields().Find(name)
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
