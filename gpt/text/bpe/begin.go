package bpe

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// processor is a post-processor of a tokenizer.json, with the fields of all types.
type processor struct {
	Type   string `json:"type"`
	Single []struct {
		SpecialToken *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
	Processors []processor `json:"processors"`
}

// Begin returns the special token that the post-processor of a tokenizer.json puts before every text, such as <s>, or
// "" if it puts none. It reads the types ByteLevel, TemplateProcessing and Sequence, and returns an error for others.
func Begin(data []byte) (string, error) {
	var f struct {
		PostProcessor *processor `json:"post_processor"`
	}
	if err := field.Unmarshal(data, &f); err != nil {
		return "", err
	}
	if f.PostProcessor == nil {
		return "", nil
	}
	begin, err := f.PostProcessor.begin()
	return begin, errors.WithMessage(err, "post_processor")
}

func (p processor) begin() (begin string, err error) {
	switch p.Type {
	case "ByteLevel":
		return "", nil
	case "TemplateProcessing":
		if len(p.Single) > 0 && p.Single[0].SpecialToken != nil {
			begin = p.Single[0].SpecialToken.ID
		}
		return begin, nil
	case "Sequence":
		for i, part := range p.Processors {
			token, err := part.begin()
			if err == nil && begin != "" && token != "" {
				err = errors.Errorf("got %.64q and %.64q before a text, want one token", begin, token)
			}
			if err != nil {
				return "", errors.WithMessagef(err, "%d", i)
			}
			begin += token
		}
		return begin, nil
	}
	return "", errors.Errorf("type: got %.64q, want ByteLevel, TemplateProcessing or a Sequence of these", p.Type)
}
