package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func (m *Model) readFrom(cp *checkpoint.Checkpoint) error {
	data, err := cp.File(weightsFile)
	if err != nil {
		return err
	}
	return m.ReadWeights(data)
}

// LoadModel builds the model of a checkpoint, for sampling: with its tokenizer, on an empty Graph, for batches of one. The
// checkpoint may also be a model alone, such as a published GPT-2, with config.json and model.safetensors; where there is
// no tokenizer.json, the tokenizer is nil. own are the variants
// of the program that saved it, if it had any.
func LoadModel(g *graph.Graph, cp *checkpoint.Checkpoint, own ...parts.Registry) (*Model, *text.Tokenizer, error) {
	c, err := configOf(cp, own...)
	if err != nil {
		return nil, nil, err
	}
	tok, err := tokenizerOf(cp)
	if err != nil {
		return nil, nil, err
	}
	m, err := New(g, c, 1)
	if err != nil {
		return nil, nil, err
	}
	return m, tok, errors.Wrapf(m.readFrom(cp), "checkpoint %s", cp.Path)
}

// tokenizerOf is nil where the checkpoint has none.
func tokenizerOf(cp *checkpoint.Checkpoint) (*text.Tokenizer, error) {
	if _, missing := cp.File(tokenizerFile); missing != nil {
		return nil, nil
	}
	tok := new(text.Tokenizer)
	return tok, readJSON(cp, tokenizerFile, tok)
}

// configOf is the configuration of a checkpoint of a run, or of a model alone.
func configOf(cp *checkpoint.Checkpoint, own ...parts.Registry) (c Config, err error) {
	if _, missing := cp.File(stateFile); missing == nil {
		s, _, err := readState(cp)
		c = s.Config
		if err != nil {
			return c, err
		}
		for _, p := range own {
			c.Parts = p
		}
		return c, nil
	}
	hf, err := cp.File(configFile)
	if err != nil {
		return c, err
	}
	return FromHuggingFace(hf, own...)
}
