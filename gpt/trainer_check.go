package gpt

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/made"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

var (
	errNoTrainer = errors.New("trainer: nothing to train, want one from NewTrainer, Resume or FineTune")
	errNoCorpus  = errors.New("trainer: Corpus: got nil, want the text to train on")
)

// checkText returns an error unless there are a corpus and a tokenizer to train with.
func checkText(corpus text.Corpus, tok text.Tokenizer) error {
	switch {
	case corpus == nil:
		return errNoCorpus
	case tok == nil:
		return errors.New("trainer: Tokenizer: got nil, want the one of the corpus")
	case tok.Size() < 1:
		return errors.New("trainer: the tokenizer has no tokens")
	}
	return nil
}

// begin locks t for one goroutine, until t.busy is unlocked. It returns an error if a field of t has been replaced by
// something that t does not train.
func (t *Trainer) begin() error {
	switch {
	case t == nil || t.built == nil:
		return errNoTrainer
	case t.Core != t.built.Core:
		return errors.New("trainer: Core has been replaced: want the one from NewTrainer, Resume or FineTune")
	case t.Model != t.built.Model:
		return errors.New("trainer: Model has been replaced by one that this Trainer does not train: " +
			"FineTune and Resume build a Trainer for the weights of a checkpoint")
	case t.Corpus == nil:
		return errNoCorpus
	}
	if err := made.Check(t.Model.built, t.Model.fields()); err != nil {
		return errors.WithMessage(err, "trainer")
	}
	if !t.busy.TryLock() {
		return errors.New("trainer: in use by another goroutine")
	}
	return nil
}

// checkTokenizer returns an error unless t has the vocabulary with which it was built.
func (t *Trainer) checkTokenizer() error {
	if err := checkText(t.Corpus, t.Tokenizer); err != nil {
		return err
	}
	data, err := json.Marshal(t.built.Tokenizer)
	if err == nil {
		err = text.Match(t.Tokenizer, data)
	}
	return errors.WithMessage(err, "trainer: Tokenizer has been replaced")
}
