package bpe

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// fileJSON is the part of a tokenizer.json that is looked at. Post-processors add special tokens, which Encode never
// does; truncation and padding are the caller's.
type fileJSON struct {
	Added        []addedJSON `json:"added_tokens"`
	Normalizer   *section    `json:"normalizer"`
	PreTokenizer *section    `json:"pre_tokenizer"`
	Model        modelJSON   `json:"model"`
}

type addedJSON struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
}

type modelJSON struct {
	Type         string         `json:"type"`
	Dropout      *float64       `json:"dropout"`
	Prefix       string         `json:"continuing_subword_prefix"`
	Suffix       string         `json:"end_of_word_suffix"`
	ByteFallback bool           `json:"byte_fallback"`
	IgnoreMerges bool           `json:"ignore_merges"`
	Vocab        map[string]int `json:"vocab"`
	Merges       []mergeJSON    `json:"merges"`
}

// mergeJSON is "left right", or ["left", "right"] in newer files.
type mergeJSON [2]string

func (m *mergeJSON) UnmarshalJSON(data []byte) (err error) {
	if len(data) > 0 && data[0] == '[' {
		var list []string
		if err = json.Unmarshal(data, &list); err == nil && len(list) != 2 {
			err = errors.Errorf("merges: got %d tokens, want 2", len(list))
		}
		copy(m[:], list)
		return err
	}
	var text string
	if err = json.Unmarshal(data, &text); err == nil {
		*m, err = pairIn(text)
	}
	return err
}

// Read reads the tokenizer.json of a published model whose type is BPE: over bytes with the patterns of GPT-2, Llama 3
// and Qwen 2 or single digits, or over characters with ▁ for the space as in LLaMA. Anything else is an error that names
// it. All added tokens are special.
func Read(data []byte) (*Tokenizer, error) {
	var f fileJSON
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, errors.Wrap(field.Said(err), "tokenizer.json")
	}
	t, err := f.build()
	if err != nil {
		return nil, errors.WithMessage(err, "tokenizer.json")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, errors.Wrap(field.Said(err), "tokenizer.json")
	}
	t.source = compact.Bytes()
	return t, nil
}

func (f fileJSON) build() (*Tokenizer, error) {
	if err := f.Model.check(); err != nil {
		return nil, errors.WithMessage(err, "model")
	}
	l, err := f.layout()
	if err != nil {
		return nil, err
	}
	r := recipe{layout: l, special: map[string]int32{}, whole: f.Model.IgnoreMerges}
	ids := maps.Clone(f.Model.Vocab)
	for _, a := range f.Added {
		if id, ok := ids[a.Content]; ok && id != a.ID {
			return nil, errors.Errorf("added_tokens: %.64q: id: got %d, want the %d of the vocabulary", a.Content, a.ID, id)
		}
		if a.Content == "" || ids == nil {
			return nil, errors.Errorf("added_tokens: id %d: got %.64q in a vocabulary of %d tokens", a.ID, a.Content, len(ids))
		}
		ids[a.Content] = a.ID
		r.special[a.Content] = int32(a.ID)
	}
	if r.tokens, err = byID(ids); err != nil {
		return nil, errors.WithMessage(err, "vocab")
	}
	for _, m := range f.Model.Merges {
		r.merges = append(r.merges, m)
	}
	return r.build()
}

func (m modelJSON) check() error {
	switch {
	case m.Type != "BPE" && (m.Type != "" || len(m.Merges) == 0):
		return errors.Errorf("type: got %.64q, want BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.Errorf("dropout: got %g, want none: an encoding is not drawn at random", *m.Dropout)
	case m.Prefix != "":
		return errors.Errorf("continuing_subword_prefix: got %.64q, want none", m.Prefix)
	case m.Suffix != "":
		return errors.Errorf("end_of_word_suffix: got %.64q, want none", m.Suffix)
	}
	return nil
}
