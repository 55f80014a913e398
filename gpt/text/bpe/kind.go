package bpe

import (
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Kind returns the kind of tokenizer bpe, with at most 1024 tokens learnt from the text, or bpe:8192 with at most 8192.
func Kind() text.Kind {
	k := kind(1024)
	k.Sized = func(size int) (text.Kind, error) {
		if size < 256 {
			return text.Kind{}, errors.Errorf("tokenizer: bpe: got %d tokens, want 256 or more", size)
		}
		return kind(size), nil
	}
	return k
}

func kind(size int) text.Kind {
	return text.Kind{
		Name: "bpe",
		New:  func(s string) (text.Tokenizer, error) { return Train(s, size) },
		Open: func(data []byte) (text.Tokenizer, error) {
			t := new(Tokenizer)
			return t, t.UnmarshalJSON(data)
		},
	}
}

// FileName returns the name of the tokenizer's file, tokenizer.json, because the file has Hugging Face's form.
func (*Tokenizer) FileName() string { return text.FileNames()[1] }
