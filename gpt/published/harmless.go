package published

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// harmlessKeys returns the keys of Hugging Face's config.json that change no logits, grouped by reason. Every other key
// must be one that the family reads, or have an empty value.
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
		"sampling, which a Sampler does": {"task_specific_params", "do_sample", "max_length", "min_length",
			"temperature", "top_k", "top_p", "typical_p", "repetition_penalty", "length_penalty",
			"no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids", "num_beams", "num_beam_groups",
			"diversity_penalty", "early_stopping", "num_return_sequences", "exponential_decay_length_penalty",
			"suppress_tokens", "begin_suppress_tokens", "forced_bos_token_id", "forced_eos_token_id",
			"remove_invalid_values", "output_scores", "return_dict_in_generate"},
	}
}

// checkKey returns an error for a key without a row, since it may change what the network computes, unless the key is
// harmless or its value is empty (null, false, "", [], {}).
func (f Family) checkKey(key string, value json.RawMessage) error {
	if slices.Contains(f.harmless, key) || isEmpty(value) {
		return nil
	}
	for _, keys := range harmlessKeys() {
		if slices.Contains(keys, key) {
			return nil
		}
	}
	return errors.Errorf("%s: got %s, want none: the key is not supported, and may change what the network computes",
		field.Clip(key), field.Clip(string(value)))
}

// isEmpty reports whether value is null, false, "", [] or {}.
func isEmpty(value json.RawMessage) bool {
	return slices.Contains([]string{"null", "false", "{}", "[]", `""`}, strings.Join(strings.Fields(string(value)), ""))
}
