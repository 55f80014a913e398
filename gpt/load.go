package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Open returns the model of the newest intact checkpoint in dir, as LoadModel does, and its tokenizer. dir may also be
// the directory of one checkpoint. own holds the user-defined variants of the program that saved it, if any. Its
// Tokenizers include bpe.Kind of gpt/text/bpe if the run has a tokenizer of byte pairs. Package gpt/published opens
// such runs without it, and models of other programs. To read only the model or only the tokenizer, or to use a graph
// with other settings, call LoadModel and LoadTokenizer.
func Open(dir string, own ...parts.Registry) (*Model, text.Tokenizer, error) {
	cp, err := checkpoint.Load(dir, Fits(own...))
	if err != nil {
		return nil, nil, err
	}
	defer cp.Close()
	s, err := SourceOf(cp, own...)
	if err != nil {
		return nil, nil, err
	}
	return s.Open(parts.Join(own...).Tokenizers...)
}

// Open returns the model of s and its tokenizer. own holds the kinds of user-defined tokenizers.
func (s Source) Open(own ...text.Kind) (*Model, text.Tokenizer, error) {
	tok, err := LoadTokenizer(s.Checkpoint, own...)
	if err != nil {
		return nil, nil, err
	}
	if tok.Size() > s.Config.VocabSize { // before the weights are read
		return nil, nil, errors.Errorf("checkpoint %s: vocab_size: got %d in %s, want at least the tokenizer's %d",
			s.Checkpoint.Path, s.Config.VocabSize, configFile, tok.Size())
	}
	s.Config.DrawnTokens = tok.Size()
	m, err := s.Model(graph.New(graph.Float32, 1))
	if err != nil {
		return nil, nil, err
	}
	return m, tok, nil
}

// LoadModel builds the model of a checkpoint for inference: on an empty Graph, for batches of one, and without dropout
// until [graph.Graph.SetTraining] switches it on. The checkpoint may also be a model alone. own holds the user-defined
// variants of the program that saved it, if any. As in NewTrainer, it is an error if one of them looks ahead.
func LoadModel(g *graph.Graph, cp *checkpoint.Checkpoint, own ...parts.Registry) (*Model, error) {
	s, err := SourceOf(cp, own...)
	if err != nil {
		return nil, err
	}
	return s.Model(g)
}

// Fits returns the condition for loading checkpoints of this package: [Source.Check] passes, otherwise a checkpoint is
// skipped before it is read. own holds the user-defined variants of the program that saved the checkpoint, if any.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		s, err := SourceOf(cp, own...)
		if err != nil {
			return err
		}
		return s.Check()
	}
}

const stateFormat = 1

// maxState is the size of the largest state that is read, in bytes.
const maxState = 1 << 20

func readState(cp *checkpoint.Checkpoint, own parts.Registry) (s train.State[Config], err error) {
	s.Config.Parts = own // its options are keys of the state
	if err = train.ReadJSON(cp, train.StateFile, maxState, &s); err != nil {
		return s, err
	}
	return s, s.Check(cp, stateFormat)
}
