package published

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// gptOSS returns the family of gpt-oss (OpenAI 2025): a LLaMA with sinks, biases in attention, a window in every other
// block, and experts with clamped features, whose gates are a softmax over the experts of a token. One tensor of a file
// holds a matrix of all experts of a block.
func gptOSS() family {
	sizes := llamaSizes{
		vocabulary: 201_088, context: 131_072, inner: 2880, width: 2880, blocks: 36, heads: 64, groups: 8, head: 64,
		eps: 1e-5, theta: 150_000,
	}
	rows := append(without(llamaRows(sizes), "hidden_act", "layer_types"), expertRows(0.001)...)
	biases := attentionBias()
	biases.value = true
	return family{
		modelType:     "gpt_oss",
		architectures: []string{"GptOssForCausalLM"},
		rows: append(rows, biases, object("layer_types"), anyJSON("sliding_window", "128"),
			row{key: "hidden_act", value: "silu", fields: []string{"mlp"}, names: clampedMLPs},
			size("num_local_experts", 128, "num_experts"), size("num_experts_per_tok", 4, "num_experts_per_tok"),
			number("swiglu_limit", 7, field.Positive(), "swiglu_limit"), fixed("swiglu_alpha", 1.702).onlyRead(),
			object(quantizationKey).onlyRead()),
		same:  append(llamaSame(), setting{"attn_sinks", "learned"}, setting{"norm_topk_prob", "true"}),
		links: []link{sharedKeys(), windows(2), usuallyScaled(), rotary(), balanced(), writtenUnscaled(), inBlocks()},
		harmless: map[string][]string{
			"num_experts_per_tok is the number of experts of a token instead": {"experts_per_token"},
			"rope_scaling has the context in training instead":                {"initial_context_length"},
		},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     ossNames(),
	}
}

// clampedMLPs returns Hugging Face's name of the activation of clamped experts.
func clampedMLPs([]parts.Activation) []name { return []name{{"silu", "moe_clamped"}} }

// usuallyScaled reads a file without a scaling of rotary positions as one with the scaling of gpt-oss.
func usuallyScaled() link {
	const usual = `{"rope_type": "yarn", "factor": 32, "beta_fast": 32, "beta_slow": 1, "truncate": false, ` +
		`"original_max_position_embeddings": 4096}`
	return link{read: func(file, _ field.List) error {
		if shown(file, "rope_scaling") != "null" || shown(file, "rope_parameters") != "null" {
			return nil
		}
		return parse(file, "rope_scaling", usual)
	}}
}

// writtenUnscaled writes that rotary positions have no scaling, because a file that does not say it has one.
func writtenUnscaled() link {
	return link{write: func(file, _ field.List) error {
		if shown(file, "rope_scaling") != "null" {
			return nil
		}
		return parse(file, "rope_scaling", `{"rope_type": "default"}`)
	}}
}

// quantizationKey is the key of how the tensors of a file are quantized.
const quantizationKey = "quantization_config"

// inBlocks checks that the tensors of a file are quantized by MXFP4, if at all. Which ones are, their names say.
func inBlocks() link {
	return link{read: func(file, _ field.List) error {
		var q struct {
			Method     string   `json:"quant_method"`
			Exceptions []string `json:"modules_to_not_convert"`
			Dequantize bool     `json:"dequantize"` // what other programs compute with
		}
		value := shown(file, quantizationKey)
		if value == "null" {
			return nil
		}
		if err := field.UnmarshalStrict(json.RawMessage(value), &q); err != nil {
			return errors.Wrap(err, quantizationKey)
		}
		if q.Method != "mxfp4" {
			return errors.Errorf("%s: quant_method: got %q, want mxfp4", quantizationKey, field.Clip(q.Method))
		}
		return nil
	}}
}

// ossNames returns the names of gpt-oss's tensors. The columns of a gate and of the features that it gates are in turn.
func ossNames() names {
	const mlp, experts = "h.#.mlp.", "layers.#.mlp.experts."
	n := llamaNames()
	n.rules = slices.DeleteFunc(n.rules, func(r rule) bool { return strings.Contains(r.ours, ".mlp.") })
	n.rules = append(n.rules, tensor("h.#.attn.sinks", "layers.#.self_attn.sinks"))
	n.rules = append(n.rules, affine(mlp+"router", "layers.#.mlp.router")...)
	for part, ours := range []string{"c_gate", "c_fc"} {
		for end, theirs := range map[string]string{".weight": "gate_up_proj", ".bias": "gate_up_proj_bias"} {
			r := tensor(mlp+"experts.@."+ours+end, experts+theirs)
			r.part, r.parts, r.inTurn = part, 2, true
			n.rules = append(n.rules, r)
		}
	}
	n.rules = append(n.rules, tensor(mlp+"experts.@.c_proj.weight", experts+"down_proj"),
		tensor(mlp+"experts.@.c_proj.bias", experts+"down_proj_bias"))
	return n
}
