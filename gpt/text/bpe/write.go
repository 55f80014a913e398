package bpe

import (
	"encoding/json"

	"github.com/pkg/errors"
)

// addedToken is a special token of a tokenizer.json.
type addedToken struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// byteLevelJSON is the section of an encoding over bytes with GPT-2's pattern, the same in all three places.
type byteLevelJSON struct {
	Type           string `json:"type"`
	AddPrefixSpace bool   `json:"add_prefix_space"`
	TrimOffsets    bool   `json:"trim_offsets"`
	UseRegex       bool   `json:"use_regex"`
}

type writtenModel struct {
	Type         string     `json:"type"`
	Dropout      any        `json:"dropout"`
	Unknown      any        `json:"unk_token"`
	Prefix       string     `json:"continuing_subword_prefix"`
	Suffix       string     `json:"end_of_word_suffix"`
	FuseUnknown  bool       `json:"fuse_unk"`
	ByteFallback bool       `json:"byte_fallback"`
	Vocab        vocabulary `json:"vocab"`
	Merges       []string   `json:"merges"`
}

type written struct {
	Version       string        `json:"version"`
	Truncation    any           `json:"truncation"`
	Padding       any           `json:"padding"`
	Added         []addedToken  `json:"added_tokens"`
	Normalizer    any           `json:"normalizer"`
	PreTokenizer  byteLevelJSON `json:"pre_tokenizer"`
	PostProcessor byteLevelJSON `json:"post_processor"`
	Decoder       byteLevelJSON `json:"decoder"`
	Model         writtenModel  `json:"model"`
}

// MarshalJSON writes a tokenizer.json as Hugging Face's libraries read it: exactly the one that was read, or the file
// of an encoding over bytes with GPT-2's pattern.
func (t *Tokenizer) MarshalJSON() ([]byte, error) {
	if t.Size() == 0 {
		return nil, errors.New("tokenizer: bpe: no vocabulary to write, want one that was read or trained")
	}
	if t.source != nil {
		return t.source, nil
	}
	section := byteLevelJSON{"ByteLevel", false, true, true}
	w := written{Version: "1.0", Added: []addedToken{}, PreTokenizer: section, PostProcessor: section, Decoder: section}
	w.Model = writtenModel{Type: "BPE", Vocab: make(vocabulary, t.Size()), Merges: make([]string, len(t.merges))}
	for id, token := range t.tokens {
		w.Model.Vocab[id] = entry{visible(token), id}
		if of, ok := t.special[token]; ok && int(of) == id {
			w.Model.Vocab[id].token = token
			w.Added = append(w.Added, addedToken{ID: id, Content: token, Special: true})
		}
	}
	for p, m := range t.merges {
		w.Model.Merges[m.rank] = w.Model.Vocab[p>>32].token + " " + w.Model.Vocab[uint32(p)].token
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads a tokenizer.json as Read does. After an error t is unchanged.
func (t *Tokenizer) UnmarshalJSON(data []byte) error {
	if t == nil {
		return errors.New("tokenizer: bpe: nothing to read into (nil)")
	}
	read, err := Read(data)
	if err != nil {
		return err
	}
	t.tokens, t.special, t.named, t.normal, t.merges = read.tokens, read.special, read.named, read.normal, read.merges
	t.lookup, t.split, t.form, t.source = read.lookup, read.split, read.form, read.source
	return nil
}
