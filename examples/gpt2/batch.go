package main

import (
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// endOfText is the token that separates GPT-2's texts.
const endOfText = "<|endoftext|>"

// sections returns a text's tokens in llm.c's form: the end-of-text token, then a section, and so on. The empty line
// between two sections belongs to the first.
func sections(tok text.Tokenizer, s string) (ids []int, err error) {
	special, ok := tok.(interface{ Special(string) (int, bool) })
	if !ok {
		return nil, errors.New("the tokenizer has no special tokens")
	}
	end, ok := special.Special(endOfText)
	if !ok {
		return nil, errors.Errorf("the tokenizer has no token %s", endOfText)
	}
	for len(s) > 0 {
		section := s
		if at := strings.Index(s, "\n\n"); at >= 0 {
			section = s[:at+2]
		}
		s = s[len(section):]
		part, err := tok.Encode(section)
		if err != nil {
			return nil, err
		}
		ids = append(append(ids, end), part...)
	}
	return ids, nil
}
