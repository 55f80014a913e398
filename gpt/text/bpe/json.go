package bpe

import (
	"bytes"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// fileJSON is the part of a tokenizer.json that Read uses. Post-processors add special tokens, which Encode never
// does; truncation and padding are left to the caller.
type fileJSON struct {
	Added        []addedJSON `json:"added_tokens"`
	Normalizer   *section    `json:"normalizer"`
	PreTokenizer *section    `json:"pre_tokenizer"`
	Model        modelJSON   `json:"model"`
}

type addedJSON struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

type modelJSON struct {
	Type         string          `json:"type"`
	Dropout      *float64        `json:"dropout"`
	Prefix       string          `json:"continuing_subword_prefix"`
	Suffix       string          `json:"end_of_word_suffix"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Vocab        json.RawMessage `json:"vocab"` // not an object in other types
	Merges       mergeList       `json:"merges"`
}

// Read reads the tokenizer.json of a published model whose type is BPE: over bytes with the patterns of GPT-2, Llama 3
// and Qwen 2 or single digits, with or without Unicode's form C, or over characters with ▁ for the space as in LLaMA.
// Anything else is an error that names it. All added tokens are special.
func Read(data []byte) (*Tokenizer, error) {
	var f fileJSON
	if err := encoded(data); err != nil {
		return nil, err
	}
	if err := field.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	t, err := f.build()
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return nil, field.Said(err)
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
	r := recipe{layout: l, special: map[string]int32{}, merges: f.Model.Merges, ignoreMerges: f.Model.IgnoreMerges}
	var own vocabulary
	if err := field.UnmarshalPart(f.Model.Vocab, &own); err != nil {
		return nil, err
	}
	all, ids := own, map[string]int{}
	for _, a := range f.Added {
		if a.Content == "" {
			return nil, errors.Errorf("added_tokens: id %d: got no content", a.ID)
		}
		r.special[a.Content], ids[a.Content] = int32(a.ID), a.ID
		if !a.Special {
			r.plain++
		}
	}
	for _, e := range own {
		if id, ok := ids[e.token]; ok && id != e.id {
			return nil, errors.Errorf("added_tokens: %.64q: id: got %d, want the %d of the vocabulary",
				e.token, id, e.id)
		}
		delete(ids, e.token)
	}
	for content, id := range ids {
		all = append(all, entry{content, id})
	}
	if r.tokens, err = all.tokens(); err != nil {
		return nil, err
	}
	return r.build()
}

func (m modelJSON) check() error {
	switch {
	case m.Type != "BPE" && (m.Type != "" || len(m.Merges) == 0):
		return errors.Errorf("type: got %.64q, want BPE", m.Type)
	case m.Dropout != nil && *m.Dropout != 0:
		return errors.Errorf("dropout: got %g, want none: an encoding is not drawn at random", *m.Dropout)
	case m.Vocab == nil:
		return errors.New("vocab: got nothing, want an object of tokens and their ids")
	case m.Prefix != "":
		return errors.Errorf("continuing_subword_prefix: got %.64q, want none", m.Prefix)
	case m.Suffix != "":
		return errors.Errorf("end_of_word_suffix: got %.64q, want none", m.Suffix)
	}
	return nil
}
