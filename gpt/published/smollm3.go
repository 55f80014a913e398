package published

import (
	"encoding/json"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// smolLM3 returns the family of SmolLM3 (Hugging Face 2025): a LLaMA with some blocks, usually every fourth, without
// rotary positions.
func smolLM3() family {
	sizes := llamaSizes{
		vocabulary: 128_256, context: 32_768, inner: 11_008, width: 2048, blocks: 36, heads: 16, groups: 4,
		theta: 2e6, tied: true,
	}
	return family{
		modelType:     "smollm3",
		architectures: []string{"SmolLM3ForCausalLM"},
		rows: append(llamaRows(sizes), attentionBias(), mlpBias(),
			fixed("use_sliding_window", false), object("no_rope_layers"),
			size("no_rope_layer_interval", 4).byLink()),
		same:      append(llamaSame(), setting{"attention", "gqa"}),
		links:     []link{sharedKeys(), fullLayers(), rotary(), biased(), {readUnrotated, writeUnrotated}},
		harmless:  map[string][]string{noWindows: {"sliding_window", "max_window_layers"}},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     llamaNames(),
	}
}

// readUnrotated reads no_rope_layers, which has 1 for a block with rotary positions and 0 for a block without them.
func readUnrotated(file, network field.List) error {
	interval, blocks := count(file, "no_rope_layer_interval"), count(file, "num_hidden_layers")
	if interval > blocks {
		interval = 0
	}
	if value := shown(file, "no_rope_layers"); value != "null" {
		rotate, err := list[int](value)
		if err != nil {
			return errors.Wrapf(err, "no_rope_layers: got %s", field.Clip(value))
		}
		if len(rotate) != blocks {
			return errors.Errorf("no_rope_layers: got %d, want one for each of num_hidden_layers %d",
				len(rotate), blocks)
		}
		var ok bool
		if interval, ok = every(rotate, func(rotated int) bool { return rotated == 0 }); !ok {
			return errors.Errorf("no_rope_layers: got %s, want 0 for every k-th block alone",
				field.Clip(value))
		}
	}
	return parse(network, "no_rope_layer_interval", strconv.Itoa(interval))
}

// writeUnrotated writes no_rope_layers and no_rope_layer_interval.
func writeUnrotated(file, network field.List) error {
	interval := count(network, "no_rope_layer_interval")
	list := make([]int, count(file, "num_hidden_layers"))
	for i := range list {
		if interval == 0 || (i+1)%interval != 0 {
			list[i] = 1
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if err := parse(file, "no_rope_layers", string(data)); err != nil || interval == 0 {
		return err
	}
	return parse(file, "no_rope_layer_interval", strconv.Itoa(interval))
}
