package bpe

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// ReadGPT2 reads the two files of GPT-2: vocab.json, an object of tokens and their ids, and merges.txt, with one line
// for each merge. Tokens of several bytes that no merge builds, such as <|endoftext|>, are special. Missing, repeated
// and invalid entries are errors that name them.
func ReadGPT2(vocab, merges []byte) (*Tokenizer, error) {
	r := recipe{layout: byteLevelLayout(splitter(splitGPT2))}
	r.merges = make([][2]string, 0, bytes.Count(merges, []byte("\n"))+1)
	var v vocabulary
	err := encoded(vocab)
	if err == nil {
		err = field.Unmarshal(vocab, &v)
	}
	if err == nil {
		r.tokens, err = v.tokens(0)
	}
	if err != nil {
		return nil, errors.WithMessage(err, "vocab.json")
	}
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
	}
	t, err := r.build()
	return t, errors.WithMessage(err, "vocab.json and merges.txt")
}

// pairIn returns a merge written with a space between its tokens.
func pairIn(text string) (m [2]string, err error) {
	left, right, ok := strings.Cut(text, " ")
	if !ok || left == "" || right == "" || strings.Contains(right, " ") {
		return m, errors.Errorf("got %.64q, want two tokens with a space between them", text)
	}
	return [2]string{left, right}, nil
}

// encoded refuses data that is not UTF-8, as JSON must be: encoding/json would replace the invalid bytes.
func encoded(data []byte) error {
	for i := 0; i < len(data); {
		c, n := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && n == 1 {
			return errors.Errorf("not valid UTF-8 at byte %d", i)
		}
		i += n
	}
	return nil
}
