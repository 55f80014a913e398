package gguf

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// tokenizerKeys returns the keys of a tokenizer.json of byte pairs over bytes, as [File.Folder] derives it from them.
func tokenizerKeys(data []byte) ([]Key, error) {
	var file struct {
		Added []struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
			Special bool   `json:"special"`
		} `json:"added_tokens"`
		Normalizer   json.RawMessage `json:"normalizer"`
		PreTokenizer json.RawMessage `json:"pre_tokenizer"`
		Model        struct {
			Type         string            `json:"type"`
			ByteFallback bool              `json:"byte_fallback"`
			IgnoreMerges bool              `json:"ignore_merges"`
			Vocab        map[string]int    `json:"vocab"`
			Merges       []json.RawMessage `json:"merges"`
		} `json:"model"`
	}
	if err := field.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Model.Type != "BPE" || file.Model.ByteFallback {
		return nil, errors.Errorf("got model %.80q with byte_fallback %t, want byte pairs over bytes",
			file.Model.Type, file.Model.ByteFallback)
	}
	pre, err := splitOf(string(file.PreTokenizer), string(file.Normalizer))
	if err != nil {
		return nil, err
	}
	if file.Model.IgnoreMerges != (pre == "llama-bpe") {
		return nil, errors.Errorf("ignore_merges: got %t, want %t for the way to split a text of %s",
			file.Model.IgnoreMerges, !file.Model.IgnoreMerges, pre)
	}
	all := maps.Clone(file.Model.Vocab)
	types := slices.Repeat([]int{normalToken}, len(all)+len(file.Added))
	for _, t := range file.Added {
		if t.ID < 0 || t.ID >= len(types) {
			return nil, errors.Errorf("added_tokens: id %d: got %d tokens", t.ID, len(types))
		}
		all[t.Content], types[t.ID] = t.ID, userToken
		if t.Special {
			types[t.ID] = controlToken
		}
	}
	tokens := make([]string, len(all))
	for token, id := range all {
		if id < 0 || id >= len(tokens) || tokens[id] != "" {
			return nil, errors.Errorf("vocab: %.64q: got id %d of %d tokens, want each once", token, id, len(tokens))
		}
		tokens[id] = token
	}
	merges := make([]string, len(file.Model.Merges))
	for i, m := range file.Model.Merges {
		var both []string
		if field.UnmarshalPart(m, &merges[i]) != nil && field.UnmarshalPart(m, &both) == nil {
			merges[i] = strings.Join(both, " ")
		}
	}
	return []Key{
		{tokenizerPrefix + "model", OfText("gpt2")}, {tokenizerPrefix + "pre", OfText(pre)},
		{tokenizerPrefix + "tokens", OfStrings(tokens)}, {tokenizerPrefix + "token_type", OfInts(types[:len(tokens)])},
		{tokenizerPrefix + "merges", OfStrings(merges)}, {tokenizerPrefix + "add_bos_token", OfBool(false)},
	}, nil
}

// splitOf returns the name of the way to split a text.
func splitOf(pre, normalizer string) (string, error) {
	numbers := func(n string) bool {
		text, _ := json.Marshal(wordPattern + n + restPattern)
		return strings.Contains(pre, `"Split"`) && strings.Contains(unescaped(pre), unescaped(string(text)))
	}
	digits := strings.Contains(pre, `"Digits"`)
	switch composed := strings.Contains(normalizer, "NFC"); {
	case numbers(`\p{N}{1,3}`) && !composed && !digits:
		return "llama-bpe", nil
	case numbers(`\p{N}`) && composed && !digits:
		return "qwen2", nil
	case strings.Contains(pre, `"Split"`) || composed || !strings.Contains(pre, `"ByteLevel"`):
		return "", errors.Errorf("pre_tokenizer: got %.200s, want that of GPT-2, SmolLM, Llama 3 or Qwen 2", pre)
	case digits:
		return "smollm", nil
	}
	return "gpt-2", nil
}

// unescaped returns JSON without the escapes of letters that are valid in it.
func unescaped(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}
