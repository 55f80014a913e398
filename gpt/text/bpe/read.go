package bpe

import (
	"encoding/json"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// ReadGPT2 reads the two files of GPT-2: vocab.json, an object of tokens and their ids, and merges.txt, a line for each
// merge. Tokens that no merge makes and that are no bytes, such as <|endoftext|>, are special. What they lack, repeat or
// cannot mean is an error with the line.
func ReadGPT2(vocab, merges []byte) (*Tokenizer, error) {
	r := recipe{layout: byteLevelLayout(splitGPT2), special: map[string]int32{}}
	var v vocabulary
	if err := json.Unmarshal(vocab, &v); err != nil {
		return nil, errors.Wrap(field.Said(err), "vocab.json")
	}
	r.tokens = v
	made := make(map[string]bool, len(v))
	line := 0
	for text := range strings.Lines(string(merges)) {
		line++
		text = strings.TrimRight(text, "\r\n")
		if line == 1 && strings.HasPrefix(text, "#version") || text == "" {
			continue
		}
		m, err := pairIn(text)
		if err != nil {
			return nil, errors.Wrapf(err, "merges.txt: line %d", line)
		}
		r.merges = append(r.merges, m)
		made[m[0]+m[1]] = true
	}
	for id, token := range v {
		if _, ok := byteOf(token); !ok && !made[token] {
			r.special[token] = int32(id)
		}
	}
	t, err := r.build()
	return t, errors.WithMessage(err, "vocab.json and merges.txt")
}

// byteOf is the byte that a token of one character of the alphabet stands for.
func byteOf(token string) (byte, bool) {
	s, ok := bytesOf(token)
	if !ok || len(s) != 1 {
		return 0, false
	}
	return s[0], true
}

// pairIn is a merge written with a space between its tokens.
func pairIn(text string) (m [2]string, err error) {
	left, right, ok := strings.Cut(text, " ")
	if !ok || left == "" || right == "" || strings.Contains(right, " ") {
		return m, errors.Errorf("got %.64q, want two tokens with a space between them", text)
	}
	return [2]string{left, right}, nil
}

// vocabulary is the tokens by their ids; in a file, an object of tokens with their ids, which are 0, 1, 2 … in any order.
type vocabulary []string

func (v *vocabulary) UnmarshalJSON(data []byte) error {
	var ids map[string]int
	if err := json.Unmarshal(data, &ids); err != nil {
		return err
	}
	list, err := byID(ids)
	*v = list
	return err
}

// byID are the tokens in the order of their ids.
func byID(ids map[string]int) ([]string, error) {
	list, taken := make([]string, len(ids)), make([]bool, len(ids))
	for token, id := range ids {
		if id < 0 || id >= len(ids) {
			return nil, errors.Errorf("token %.64q: id: got %d, want 0 … %d of %d tokens", token, id, len(ids)-1, len(ids))
		}
		if taken[id] {
			return nil, errors.Errorf("id %d: got two tokens, %.64q and %.64q, want one", id, min(list[id], token), max(list[id], token))
		}
		list[id], taken[id] = token, true
	}
	return list, nil
}
