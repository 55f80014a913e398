package published

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// readEnds returns the tokens with which a model ends a text or a turn: the eos_token_id of a config.json or
// generation_config.json, a number or a list of numbers.
func readEnds(data []byte) (ids []int, err error) {
	return ids, field.EachKey(data, func(key string, value json.RawMessage) error {
		if key != "eos_token_id" || field.UnmarshalPart(value, &ids) == nil {
			return nil
		}
		if ids = make([]int, 1); field.UnmarshalPart(value, &ids[0]) != nil {
			return errors.Errorf("%s: got %s, want a whole number, or a list of them", key, field.Clip(string(value)))
		}
		return nil
	})
}

// tokenEnds returns the keys of the tokens at a text's beginning and end, which are null if tok, which may be nil, has
// none of the usual ones.
func tokenEnds(tok text.Tokenizer) map[string]any {
	ends := map[string]any{"bos_token_id": nil, "eos_token_id": nil}
	known, ok := tok.(interface{ Special(string) (int, bool) })
	if !ok {
		return ends
	}
	for key, names := range map[string][]string{
		"bos_token_id": {"<|endoftext|>", "<s>", "<|begin_of_text|>"},
		"eos_token_id": {"<|endoftext|>", "</s>", "<|end_of_text|>"},
	} {
		for _, name := range names {
			if id, has := known.Special(name); has && ends[key] == nil {
				ends[key] = id
			}
		}
	}
	return ends
}
