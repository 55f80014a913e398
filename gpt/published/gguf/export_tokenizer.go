package gguf

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// tokenizerJSON holds the keys of a tokenizer.json.
type tokenizerJSON struct {
	Added        []addedToken    `json:"added_tokens"`
	Normalizer   json.RawMessage `json:"normalizer"`
	PreTokenizer json.RawMessage `json:"pre_tokenizer"`
	Model        struct {
		Type         string            `json:"type"`
		Unknown      string            `json:"unk_token"`
		ByteFallback bool              `json:"byte_fallback"`
		IgnoreMerges bool              `json:"ignore_merges"`
		Vocab        map[string]int    `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
	} `json:"model"`
}

type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
	Left    bool   `json:"lstrip"`
	Right   bool   `json:"rstrip"`
	Word    bool   `json:"single_word"`
}

// tokenizerKeys returns the keys of a tokenizer.json of byte pairs, over bytes or characters, as [File.Folder] derives
// it from them. A row of the embedding that has no token, of rows, has padding.
func tokenizerKeys(data []byte, rows int) ([]Key, error) {
	var file tokenizerJSON
	if err := field.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Model.Type != "BPE" {
		return nil, errors.Errorf("got model %.80q, want BPE, byte pairs", file.Model.Type)
	}
	tokens, types, err := file.tokens(rows)
	if err != nil {
		return nil, err
	}
	merges := make([][2]string, len(file.Model.Merges))
	for i, m := range file.Model.Merges {
		var both string
		if field.UnmarshalPart(m, &both) == nil {
			merges[i][0], merges[i][1], _ = strings.Cut(both, " ")
		} else if err := field.UnmarshalPart(m, &merges[i]); err != nil {
			return nil, errors.WithMessagef(err, "merges: %d", i)
		}
	}
	keys := []Key{{tokenizerPrefix + "tokens", OfStrings(tokens)}}
	if file.Model.ByteFallback {
		more, err := file.pieceKeys(tokens, types, merges)
		return append(append(keys, more...), Key{tokenizerPrefix + "token_type", OfInts(types)}), err
	}
	by, err := splitOf(file.PreTokenizer, file.Normalizer, file.Model.IgnoreMerges)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(merges))
	for i, m := range merges {
		list[i] = m[0] + " " + m[1]
	}
	return append(keys,
		Key{tokenizerPrefix + "model", OfText("gpt2")}, Key{tokenizerPrefix + "pre", OfText(by.names[0])},
		Key{tokenizerPrefix + "token_type", OfInts(types)}, Key{tokenizerPrefix + "merges", OfStrings(list)}), nil
}

// tokens returns the token of each of the rows, by their ids, and their types.
func (file tokenizerJSON) tokens(rows int) (tokens []string, types []int, err error) {
	all := maps.Clone(file.Model.Vocab)
	for _, t := range file.Added {
		all[t.Content] = t.ID
	}
	tokens = make([]string, max(rows, len(all)))
	types = slices.Repeat([]int{normalToken}, len(tokens))
	for token, id := range all {
		if id < 0 || id >= len(tokens) || tokens[id] != "" {
			return nil, nil, errors.Errorf("vocab: %.64q: got id %d of %d tokens, want each once",
				token, id, len(tokens))
		}
		tokens[id] = token
	}
	for _, t := range file.Added {
		if t.Left || t.Right || t.Word {
			return nil, nil, errors.Errorf("added_tokens: %.64q: got lstrip %t, rstrip %t, single_word %t, "+
				"which no GGUF file expresses", t.Content, t.Left, t.Right, t.Word)
		}
		if types[t.ID] = userToken; t.Special {
			types[t.ID] = controlToken
		} else if file.Model.ByteFallback { // they are found before spaces become ▁
			tokens[t.ID] = strings.ReplaceAll(t.Content, blank, " ")
		}
	}
	for id, token := range tokens {
		if token != "" {
			continue
		}
		if _, taken := all[padding(id)]; taken {
			return nil, nil, errors.Errorf("vocab: %q is a token, and stands for a row without one in GGUF files",
				padding(id))
		}
		tokens[id], types[id] = padding(id), unusedToken
	}
	return tokens, types, nil
}

// endless returns the key of the last token of a text for a model without one: a byte that no text has. Without the key
// llama.cpp would take token 11, which is the comma in GPT-2's order of the bytes, or token 2 of SentencePiece's.
func endless(keys []Key) []Key {
	list, _ := (&File{Keys: keys}).Find(tokenizerPrefix + "tokens")
	tokens, err := list.Strings()
	if id := slices.IndexFunc(tokens, inNoText); err == nil && id >= 0 {
		return []Key{{tokenizerPrefix + "eos_token_id", OfInt(id)}}
	}
	return nil
}

// inNoText reports whether a token is the byte 0xFF, which UTF-8 does not contain, in GPT-2's or SentencePiece's form.
func inNoText(token string) bool { return token == "ÿ" || token == "<0xFF>" }

// pieceKeys returns the keys of a tokenizer of SentencePiece's, and completes the types. The score of a token is the
// negative rank of its first merge, provided that these scores give the merges, up to the order within a token.
func (file tokenizerJSON) pieceKeys(tokens []string, types []int, merges [][2]string) ([]Key, error) {
	scores, ids := make([]float64, len(tokens)), make(map[string]int, len(tokens))
	for id, token := range tokens {
		ids[token] = id
		switch {
		case token == file.Model.Unknown:
			types[id] = unknownToken
		case len(token) == 6 && strings.HasPrefix(token, "<0x") && token[5] == '>' && types[id] == normalToken:
			types[id] = byteToken
		}
		scores[id] = -float64(len(merges))
	}
	merges = slices.DeleteFunc(slices.Clone(merges), func(m [2]string) bool { // added tokens are found before
		for _, token := range []string{m[0], m[1], m[0] + m[1]} {
			if id, ok := ids[token]; !ok || types[id] != normalToken {
				return true
			}
		}
		return false
	})
	for rank, m := range slices.Backward(merges) {
		if id, ok := ids[m[0]+m[1]]; ok {
			scores[id] = -float64(rank)
		}
	}
	again := pieceMerges(tokens, types, scores)
	for i, m := range merges {
		if i >= len(again) || again[i][0]+again[i][1] != m[0]+m[1] {
			return nil, errors.Errorf("merges: got %q as number %d, want merges in the order of the scores of tokens",
				m, i)
		}
	}
	if len(again) > len(merges) {
		return nil, errors.Errorf("merges: got %d, want also %q, whose parts are tokens",
			len(merges), again[len(merges)])
	}
	prefix, err := file.prefix()
	if err != nil {
		return nil, err
	}
	numbers := make([]float32, len(scores))
	for i, x := range scores {
		numbers[i] = float32(x)
	}
	keys := []Key{{tokenizerPrefix + "model", OfText("llama")}, {tokenizerPrefix + "scores", OfFloats(numbers)},
		{tokenizerPrefix + "add_space_prefix", OfBool(prefix)}}
	if id, ok := ids[file.Model.Unknown]; ok {
		keys = append(keys, Key{tokenizerPrefix + "unknown_token_id", OfInt(id)})
	}
	return keys, nil
}

// prefix reports whether a text, and the text after a special token, begins with a space.
func (file tokenizerJSON) prefix() (bool, error) {
	var pre, n section
	if err := field.UnmarshalPart(orNull(file.PreTokenizer), &pre); err != nil {
		return false, errors.WithMessage(err, "pre_tokenizer")
	}
	if err := field.UnmarshalPart(orNull(file.Normalizer), &n); err != nil {
		return false, errors.WithMessage(err, "normalizer")
	}
	switch {
	case pre.Type == "Metaspace" && n.Type == "" && (pre.Prefix == "always" || pre.Prefix == "never"):
		return pre.Prefix == "always", nil
	case pre.Type == "" && len(n.Normalizers) == 2 && n.Normalizers[0].Prepend == blank:
		return true, nil
	case n.only().Type == "Replace" && (pre.Type == "" || pre.Type == "Split" && pre.Pattern.String == " "):
		return false, nil
	}
	return false, errors.Errorf("pre_tokenizer: got %.200s with normalizer %.200s, want a space before every text, or "+
		"before none", orNull(file.PreTokenizer), orNull(file.Normalizer))
}
