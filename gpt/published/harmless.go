package published

import (
	"encoding/json"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// onlyTraining is the reason why a rate of dropout changes no logits.
const onlyTraining = "dropout, which only training has"

// harmlessKeys returns the keys of Hugging Face's config.json that change no logits, whatever their value, by the
// reason. A family has further ones.
func harmlessKeys() map[string][]string {
	return map[string][]string{
		"the reader has used it already": {"model_type"},
		"the program that wrote the file": {"_name_or_path", "_commit_hash", "architectures", "auto_map",
			"is_llama_config", "transformers_version", "transformers.js_config", "unsloth_version", "unsloth_fixed"},
		"numbers are read as their type in the file": {"torch_dtype", "dtype", "use_bfloat16"},
		"how Hugging Face computes the same logits, and its other results": {"_attn_implementation",
			"_attn_implementation_autoset", "attn_implementation", "use_cache", "pretraining_tp",
			"reorder_and_upcast_attn", "gradient_checkpointing", "output_attentions", "output_hidden_states",
			"return_dict", "torchscript", "chunk_size_feed_forward", "is_decoder"},
		"initial weights": {"initializer_range"},
		"heads for classes": {"summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
			"summary_use_proj", "id2label", "label2id", "num_labels", "_num_labels", "problem_type", "finetuning_task",
			"classifier_dropout"},
		"tokens, which a tokenizer or LoadEnds reads": {"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
			"unk_token_id", "cls_token_id", "mask_token_id", "decoder_start_token_id", "tokenizer_class", "prefix"},
		onlyTraining: {"attention_dropout"},
		"sampling, which a Sampler does": {"task_specific_params", "do_sample", "max_length", "min_length",
			"temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
			"no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_beams", "num_beam_groups",
			"diversity_penalty", "early_stopping", "num_return_sequences", "exponential_decay_length_penalty",
			"suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id",
			"remove_invalid_values", "output_scores", "return_dict_in_generate"},
	}
}

// absentParts returns keys of Hugging Face's config.json by the value, as compact JSON, with which a network has no
// such part. A family whose networks may have it, or have it otherwise, has a row for the key.
func absentParts() map[string][]string {
	return map[string][]string{
		"false": {"add_cross_attention", "is_encoder_decoder", "tie_encoder_decoder", "attention_bias", "mlp_bias",
			"lm_head_bias", "use_sliding_window", "use_qk_norm", "qk_layernorm", "rope_interleaved", "use_mrope",
			"scale_attn_by_inverse_layer_idx", "use_bidirectional_attention", "output_router_logits"},
		"{}": {"pruned_heads"},
		"1":  {"full_attn_mod", "interpolate_factor"}, // full attention in every block, positions without a scaling
	}
}

// checkKey returns an error for a key without a row, since it may change what the network computes, unless it is
// harmless or has the value of a part that the network lacks. null, by which Python writes that there is no value,
// always is that value.
func (f family) checkKey(key string, value json.RawMessage) error {
	if string(value) == "null" || listed(f.harmless, key) || listed(harmlessKeys(), key) {
		return nil
	}
	if absent := absentParts(); listed(absent, key) && slices.Contains(absent[canonical(value)], key) {
		return nil
	}
	return errors.Errorf("%s: got %s, want none: the key is not supported, and may change what the network computes",
		field.Clip(key), field.Clip(string(value)))
}

// listed reports whether one of the lists contains a key.
func listed(lists map[string][]string, key string) bool {
	for _, keys := range lists {
		if slices.Contains(keys, key) {
			return true
		}
	}
	return false
}

// canonical returns a JSON value in its shortest form, in which equal numbers are equal.
func canonical(value json.RawMessage) string {
	var v any
	if err := field.UnmarshalPart(value, &v); err != nil {
		return string(value)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return string(value)
	}
	return string(data)
}

// list decodes a JSON list, in which null is no element.
func list[T any](value string) (elements []T, err error) {
	var all []*T
	if err := field.UnmarshalPart(json.RawMessage(value), &all); err != nil {
		return nil, err
	}
	for i, x := range all {
		if x == nil {
			return nil, errors.Errorf("element %d: got null, want a value", i)
		}
		elements = append(elements, *x)
	}
	return elements, nil
}
