package published

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pkg/errors"
)

// gemma returns the family of the first Gemma (Gemma Team 2024): a LLaMA with embeddings times √d. The files hold the
// gains of its norms minus 1. Like other programs, it takes a hidden_act of GELU for the form by tanh.
func gemma() family {
	list := llamaNames()
	for i, r := range list.rules {
		if strings.Contains(r.ours, "ln_") {
			list.rules[i].shift = 1
		}
	}
	sizes := llamaSizes{
		vocabulary: 256_000, context: 8192, inner: 24_576, width: 3072, blocks: 28, heads: 16, groups: 16, head: 256,
		tied: true,
	}
	return family{
		modelType:     "gemma",
		architectures: []string{"GemmaForCausalLM"},
		rows: append(without(llamaRows(sizes), "hidden_act"), nullActivation(),
			row{key: "hidden_act", value: "gelu_pytorch_tanh", names: geluMLPs, unwritten: true},
			attentionBias()),
		same:      append(llamaSame(), setting{"attention", "gqa"}),
		links:     []link{sharedKeys(), fullLayers(), rotary(), widthFactor()},
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     list,
	}
}

// gemmaActivation returns the row of the activation of Gemma's gated MLP.
func gemmaActivation() row {
	return row{key: "hidden_activation", value: "gelu_pytorch_tanh", fields: []string{"mlp"}, names: geluMLPs}
}

// nullActivation is gemmaActivation for files in which null stands for the default.
func nullActivation() row {
	r := gemmaActivation()
	r.null = `"gelu_pytorch_tanh"`
	return r
}

// widthFactor returns the link of the factor √d on the embeddings, which no key contains.
func widthFactor() link {
	return link{read: func(file, network field.List) error {
		return parse(network, "embedding_multiplier", plain(math.Sqrt(float64(count(file, "hidden_size")))))
	}}
}

// gemma2 returns the family of Gemma 2 (Gemma Team 2024): a LLaMA with norms before and after attention and MLP,
// embeddings times √d, capped scores and logits, and a window in every other block. The files hold the gains of its
// norms minus 1.
func gemma2() family {
	rows := gemmaRows(llamaSizes{vocabulary: 256_000, context: 8192}, "50.0", "30.0")
	return family{
		modelType:     "gemma2",
		architectures: []string{"Gemma2ForCausalLM"},
		rows:          rows,
		same:          append(llamaSame(), setting{"block", "sandwich"}),
		links:         append([]link{sharedKeys(), windows(2), rotary()}, gemmaLinks()...),
		harmless:      gemmaHarmless(),
		constants:     map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:         gemmaNames(llamaNames()),
	}
}

// gemma3 returns the family of Gemma 3's texts (Gemma Team 2025): a Gemma 2 with norms of queries and keys instead of
// caps, and windows in all but every sixth block, whose rotary positions have a base of their own.
func gemma3() family {
	rows := gemmaRows(llamaSizes{vocabulary: 262_208, context: 131_072, theta: 1e6}, "null", "null")
	return family{
		modelType:     "gemma3_text",
		architectures: []string{"Gemma3ForCausalLM"},
		rows: append(rows, number("rope_local_base_freq", 10_000, field.Positive()).byLink(),
			size("sliding_window_pattern", 6).byLink().onlyRead(),
			object("_sliding_window_pattern").onlyRead(),
			fixed("use_bidirectional_attention", false).onlyRead()),
		same: append(llamaSame(), setting{"block", "sandwich"}, setting{"qk_norm", "head"}),
		links: append([]link{
			sharedKeys(), windowPattern(), windows(6), twoRotations(), rotary(), oneRotation(),
		}, gemmaLinks()...),
		harmless:  gemmaHarmless(),
		constants: map[string]any{"initializer_range": 0.02, "use_cache": true},
		names:     gemmaNames(llamaNames().normed(headGains, headGains)),
	}
}

// gemmaHarmless returns the keys that change no logits of Gemma 2 and 3, by the reason.
func gemmaHarmless() map[string][]string {
	return map[string][]string{
		"hidden_activation is the activation instead": {"hidden_act"},
		"how other programs store keys and values":    {"cache_implementation"},
	}
}

// windowPattern checks that both keys of the interval of blocks without a window agree if there is no layer_types.
func windowPattern() link {
	return link{read: func(file, _ field.List) error {
		if shown(file, "layer_types") != "null" {
			return nil
		}
		k := count(file, "sliding_window_pattern")
		if same := shown(file, "_sliding_window_pattern"); same != "null" && same != strconv.Itoa(k) {
			return errors.Errorf("_sliding_window_pattern: got %s, want sliding_window_pattern %d, which programs "+
				"read without layer_types", field.Clip(same), k)
		}
		return nil
	}}
}

// gemmaRows returns the keys of Gemma 2 and 3, with the defaults of both caps.
func gemmaRows(s llamaSizes, scores, logits string) []row {
	s.inner, s.width, s.blocks, s.heads, s.groups, s.head, s.tied = 9216, 2304, 26, 8, 4, 256, true
	rows := without(llamaRows(s), "hidden_act", "layer_types")
	return append(rows,
		gemmaActivation(),
		object("layer_types"),
		anyJSON("sliding_window", "4096"),
		number("query_pre_attn_scalar", 256, field.Positive()).byLink(),
		anyJSON("attn_logit_softcapping", scores), anyJSON("final_logit_softcapping", logits),
		attentionBias())
}

// geluMLPs returns Hugging Face's names of the activation of a gated MLP of Gemma.
func geluMLPs([]parts.Activation) []name {
	return []name{{"gelu_pytorch_tanh", "geglu_tanh"}, {"gelu_new", "geglu_tanh"}, {"gelu", "geglu"}}
}

// gemmaLinks returns the links of the scale of embeddings and scores, and of caps.
func gemmaLinks() []link {
	return []link{
		widthFactor(),
		{readQueryScalar, writeQueryScalar},
		linked("attn_logit_softcapping", "attn_logit_softcapping", 0),
		linked("final_logit_softcapping", "final_logit_softcapping", 0),
	}
}

// readQueryScalar reads query_pre_attn_scalar, whose root divides the scores in place of the root of head_dim.
func readQueryScalar(file, network field.List) error {
	scalar, err := strconv.ParseFloat(shown(file, "query_pre_attn_scalar"), 64)
	head := count(file, "head_dim")
	switch {
	case err != nil:
		return errors.Wrap(err, "query_pre_attn_scalar")
	case scalar == float64(head):
		return nil
	case shown(network, "qk_norm") == "head":
		return errors.Errorf("query_pre_attn_scalar: got %v, want head_dim %d in a network that norms its queries",
			scalar, head)
	}
	return parse(network, "attention_multiplier", plain(1/math.Sqrt(scalar)))
}

// writeQueryScalar writes query_pre_attn_scalar, which is usually a whole number.
func writeQueryScalar(file, network field.List) error {
	scalar := float64(count(file, "head_dim"))
	m, err := strconv.ParseFloat(shown(network, "attention_multiplier"), 64)
	if err != nil {
		return errors.Wrap(err, "attention_multiplier")
	}
	if m != 0 {
		scalar = 1 / (m * m)
	}
	if whole := math.Round(scalar); math.Abs(scalar-whole) <= 1e-9*whole {
		scalar = whole
	}
	return parse(file, "query_pre_attn_scalar", plain(scalar))
}

// twoRotations reads rope_parameters of newer files, an object for each of the two kinds of attention.
func twoRotations() link {
	return link{read: func(file, network field.List) error {
		var both struct {
			Full    json.RawMessage `json:"full_attention"`
			Sliding json.RawMessage `json:"sliding_attention"`
		}
		object := shown(file, "rope_parameters")
		if object == "null" {
			return nil
		}
		if err := field.UnmarshalStrict(json.RawMessage(object), &both); err != nil {
			return errors.Wrap(err, "rope_parameters")
		}
		if _, err := decodeRotation(both.Full); err != nil {
			return errors.Wrap(err, "rope_parameters: full_attention")
		}
		r, err := decodeRotation(both.Sliding)
		share, partial := r.numbers["partial_rotary_factor"]
		if err != nil || r.kind != "default" || partial && share != 1 {
			return errors.Errorf("rope_parameters: sliding_attention: got %s, want a rotation of type default and of "+
				"all features", field.Clip(string(both.Sliding)))
		}
		if theta, ok := r.numbers["rope_theta"]; ok {
			if err := parse(file, "rope_local_base_freq", plain(theta)); err != nil {
				return err
			}
		}
		return parse(file, "rope_parameters", string(both.Full))
	}}
}

// oneRotation translates the base of rotary positions in blocks with a window. If all blocks are alike, it is the only
// base, or none.
func oneRotation() link {
	return link{
		read: func(file, network field.List) error {
			local := shown(file, "rope_local_base_freq")
			switch {
			case shown(network, "attention") != "gqa_window":
				return nil
			case count(network, "full_attention_interval") > 0:
				return parse(network, "rope_local_base_freq", local)
			}
			for _, s := range []setting{{"rope_scaling", "none"}, {"rope_factor", "0"}, {"rope_original", "0"}} {
				if err := parse(network, s.field, s.value); err != nil {
					return err
				}
			}
			return parse(file, "rope_theta", local)
		},
		write: func(file, network field.List) error {
			local := shown(network, "rope_local_base_freq")
			if count(network, "full_attention_interval") == 0 {
				local = shown(network, "rope_theta")
			}
			if local == "0" {
				return nil
			}
			return parse(file, "rope_local_base_freq", local)
		},
	}
}

// gemmaNames returns LLaMA's names with the names of four norms. A gain is the number in the file plus 1.
func gemmaNames(n names) names {
	const block = "layers.#."
	n.rules = slices.DeleteFunc(n.rules, func(r rule) bool { return r.ours == "h.#.ln_2.weight" })
	n.rules = append(n.rules, tensor("h.#.ln_1_post.weight", block+"post_attention_layernorm.weight"),
		tensor("h.#.ln_2.weight", block+"pre_feedforward_layernorm.weight"),
		tensor("h.#.ln_2_post.weight", block+"post_feedforward_layernorm.weight"))
	for i, r := range n.rules {
		if strings.Contains(r.ours, "ln_") || strings.Contains(r.ours, "_norm.") {
			n.rules[i].shift = 1
		}
	}
	return n
}
