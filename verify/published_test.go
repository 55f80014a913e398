package verify

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
)

// publishedConfigs returns a small config.json of every family whose equations differ from those of TestCheck.
func publishedConfigs() map[string]string {
	const sizes = `"vocab_size": 7, "max_position_embeddings": 5, "hidden_size": 12, "intermediate_size": 7, ` +
		`"num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "rope_theta": 50, `
	return map[string]string{
		"qwen3":   `{"model_type": "qwen3", ` + sizes + `"tie_word_embeddings": true}`,
		"smollm3": `{"model_type": "smollm3", ` + sizes + `"no_rope_layers": [1, 0, 1]}`,
		"olmo2": `{"model_type": "olmo2", ` + sizes + `"rope_scaling": {"rope_type": "llama3", "factor": 3, "low_freq_factor": 1,
			"high_freq_factor": 4, "original_max_position_embeddings": 30}}`,
	}
}

// Every gradient of a published network agrees with those of the other roads.
func TestPublishedFamilies(t *testing.T) {
	for name, config := range publishedConfigs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := gpt.FromHuggingFace([]byte(config))
			if err != nil {
				t.Fatal(err)
			}
			c.Kernels = true
			m := newModel(t, c)
			s, err := m.subject()
			if err != nil {
				t.Fatal(err)
			}
			r, err := check(unwatched(), s, sampling{few: 3})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range append(r.Failures, r.First) {
				if f != "" {
					t.Error(f)
				}
			}
			if !r.OK() || !(r.Worst <= Suspicion) || !(r.Worst > 0) || r.Parameters != m.Count() {
				t.Errorf("got %.1e, float32 %.1e, %d of %d parameters", r.Worst, r.WorstFloat32, r.Parameters, m.Count())
			}
			t.Logf("%d parameters: %.1e; float32 %.1e", r.Parameters, r.Worst, r.WorstFloat32)
		})
	}
}
