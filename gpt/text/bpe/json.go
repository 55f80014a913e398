package bpe

import (
	"bytes"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// fileJSON is the part of a tokenizer.json that Read uses. Post-processors add special tokens, which Encode never
// does, see Begin; truncation and padding are left to the caller.
type fileJSON struct {
	Added        []addedJSON `json:"added_tokens"`
	Normalizer   *section    `json:"normalizer"`
	PreTokenizer *section    `json:"pre_tokenizer"`
	Model        modelJSON   `json:"model"`
}

type addedJSON struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	Special    bool   `json:"special"`
	SingleWord bool   `json:"single_word"`
	Left       bool   `json:"lstrip"`
	Right      bool   `json:"rstrip"`
	Normalized *bool  `json:"normalized"` // by default those that are not special
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

// holes is the number of ids without a token that a vocabulary may have beyond one for each token.
const holes = 4096

// Read reads the tokenizer.json of a published model whose type is BPE: over bytes, cut by the patterns of GPT-2, Llama
// 3, Qwen 2, gpt-oss and Mistral's Tekken, by single digits or by other regular expressions, or over characters with ▁
// for the space as in LLaMA and Gemma; with or without one of Unicode's normal forms. Ids may be left out, as in
// GPT-4o: Decode returns nothing for them. Anything else is an error that names it.
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
	r := recipe{layout: l, merges: f.Model.Merges, ignoreMerges: f.Model.IgnoreMerges}
	var own vocabulary
	if err := field.UnmarshalPart(f.Model.Vocab, &own); err != nil {
		return nil, err
	}
	ids, err := f.addTo(&r)
	if err != nil {
		return nil, err
	}
	plain := map[string]bool{}
	for _, a := range r.added {
		plain[a.content] = !a.special
	}
	all := own
	for _, e := range own {
		id, ok := ids[e.token]
		if !ok {
			continue
		}
		if id != e.id {
			return nil, errors.Errorf("added_tokens: %.64q: id: got %d, want the %d of the vocabulary",
				e.token, id, e.id)
		}
		delete(ids, e.token)
		// Gemma's runs of spaces are added tokens and built by merges.
		if _, written := l.read(e.token); written && plain[e.token] {
			delete(r.apart, e.token)
		}
	}
	for content, id := range ids {
		all = append(all, entry{content, id})
	}
	if r.tokens, err = all.tokens(len(all) + holes); err != nil {
		return nil, err
	}
	return r.build()
}

// addTo adds the added tokens to a recipe, and returns their ids.
func (f fileJSON) addTo(r *recipe) (ids map[string]int, err error) {
	ids = make(map[string]int, len(f.Added))
	r.added, r.apart = make([]added, 0, len(f.Added)), make(map[string]int32, len(f.Added))
	r.normalized = map[string]bool{}
	for _, a := range f.Added {
		_, twice := ids[a.Content]
		switch {
		case a.Content == "":
			return nil, errors.Errorf("added_tokens: id %d: got no content", a.ID)
		case a.SingleWord:
			return nil, errors.Errorf("added_tokens: %.64q: single_word: got true, want false", a.Content)
		case twice && ids[a.Content] != a.ID:
			return nil, errors.Errorf("added_tokens: %.64q: got ids %d and %d, want one",
				a.Content, ids[a.Content], a.ID)
		case twice:
			continue
		}
		ids[a.Content], r.apart[a.Content] = a.ID, int32(a.ID)
		r.added = append(r.added, added{a.Content, int32(a.ID), a.Special, a.Left, a.Right})
		if f.Normalizer != nil && (a.Normalized == nil && !a.Special || a.Normalized != nil && *a.Normalized) {
			r.normalized[a.Content] = true
		}
	}
	return ids, nil
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
