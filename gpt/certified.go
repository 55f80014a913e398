package gpt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// certified describes the run of t in its certificate.
func (t *Trainer) certified() (r certificate.Run, err error) {
	c := t.config.certified()
	r = certificate.Run{
		Kind: certificate.Decoder, Base: t.base,
		Code: append(c.Parts.Code(c.Stack, c.Head, c.Optimizer, c.Schedule), c.Hooks.Code()...),
	}
	if r.Config, err = json.Marshal(c); err != nil {
		return r, err
	}
	data, err := t.Tokenizer.MarshalJSON()
	if err != nil {
		return r, err
	}
	r.Tokenizer = tokenizerFacts(t.Tokenizer.Size(), data)
	return r, nil
}

// certified returns c with the values of all defaults and only those settings of the run that say how long it is.
func (c Config) certified() Config {
	c = c.Resolved()
	c.Run = train.Run{MaxIters: c.MaxIters, EvalInterval: c.EvalInterval, EvalIters: c.EvalIters, LogInterval: 1}
	return c
}

// tokenizerFacts returns how a certificate identifies a tokenizer of some tokens, by its JSON.
func tokenizerFacts(size int, data []byte) certificate.Tokenizer {
	var object struct {
		Type string `json:"type"`
	}
	kind := "bpe" // whose files have no type
	if field.UnmarshalPart(data, &object) == nil && object.Type != "" {
		kind = object.Type
	}
	sum := sha256.Sum256(data)
	return certificate.Tokenizer{Kind: kind, Size: size, SHA256: hex.EncodeToString(sum[:])}
}

// Repeat returns a trainer that does the run of a certificate again, on the same text with the same tokenizer: from its
// beginning, or from a checkpoint that the certificate has a link of. A run with code that is not the library's, one
// that began with other weights, and another text, tokenizer or checkpoint are errors that name it. Of run, only what
// does not change the steps counts, such as the threads.
func Repeat(
	c *certificate.Certificate, run train.Run, corpus text.Corpus, tok text.Tokenizer, from *checkpoint.Checkpoint,
) (*Trainer, error) {
	if c == nil {
		return nil, errors.New("repeat: certificate: got nil, want one of certificate.Open")
	}
	if err := checkText(corpus, tok); err != nil {
		return nil, err
	}
	if err := repeatable(c); err != nil {
		return nil, errors.Wrap(err, "repeat")
	}
	if got := corpus.SHA256(); got != c.Text {
		return nil, errors.Errorf("repeat: text: got one of sha256 %.80s, want %s", got, c.Text)
	}
	data, err := tok.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if got := tokenizerFacts(tok.Size(), data); got != c.Tokenizer {
		return nil, errors.Errorf("repeat: tokenizer: got %.64q of %d tokens with sha256 %s, want %.64q of %d with %s",
			got.Kind, got.Size, got.SHA256, c.Tokenizer.Kind, c.Tokenizer.Size, c.Tokenizer.SHA256)
	}
	var config Config
	if err := config.UnmarshalJSON(c.Config); err != nil {
		return nil, errors.Wrap(err, "repeat: config")
	}
	run.MaxIters, run.EvalInterval, run.EvalIters = config.MaxIters, config.EvalInterval, config.EvalIters
	run.LogInterval = 1
	config.Run = run
	if from == nil {
		if c.From > 0 {
			return nil, errors.Errorf("repeat: links: got a chain that begins after step %d, want the checkpoint of "+
				"that step", c.From)
		}
		return NewTrainer(config, corpus, tok)
	}
	if err := train.CheckState(c, from); err != nil {
		return nil, errors.Wrap(err, "repeat")
	}
	return Resume(config, corpus, tok, from)
}

// repeatable returns an error unless the library has everything that determines a run.
func repeatable(c *certificate.Certificate) error {
	switch {
	case c.Kind != certificate.Decoder:
		return errors.Errorf("kind: got %.64q, want %q", c.Kind, certificate.Decoder)
	case len(c.Code) > 0:
		return errors.Errorf("code: %.64q is not the library's: the program of the run must do it again",
			c.Code[0].Name)
	case c.Base != "":
		return errors.Errorf("base: the run began with weights of sha256 %s, which its seed does not determine", c.Base)
	}
	return nil
}
