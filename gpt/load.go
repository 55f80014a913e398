package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

var errNoCheckpoint = errors.New("checkpoint: got nil, want one of checkpoint.Load")

func (m *Model) readFrom(cp *checkpoint.Checkpoint) error {
	f, err := train.OpenTensors(cp, train.WeightsFile)
	if err != nil {
		return errors.Wrap(err, "weights")
	}
	return m.read(f, m.Params())
}

// Open is the model of the newest checkpoint in dir that is intact, for use as by LoadModel, and its tokenizer; dir may
// also be the directory of one checkpoint. own are the variants of the program that saved it, its tokenizers among them,
// if it had any. Who needs only one of both, or a graph of other settings, uses LoadModel and LoadTokenizer.
func Open(dir string, own ...parts.Registry) (*Model, text.Tokenizer, error) {
	cp, err := checkpoint.Load(dir, Fits(own...))
	if err != nil {
		return nil, nil, err
	}
	defer cp.Close()
	var kinds []text.Kind
	for _, p := range own {
		kinds = append(kinds, p.Tokenizers...)
	}
	tok, err := LoadTokenizer(cp, kinds...)
	if err != nil {
		return nil, nil, err
	}
	m, err := LoadModel(graph.New(graph.Float32, 1), cp, own...)
	return m, tok, err
}

// LoadModel builds the model of a checkpoint, for use: on an empty Graph, for batches of one, and without dropout until
// [graph.Graph.SetTraining] switches it on. The checkpoint may also be a model alone, such as a published GPT-2, with
// config.json and model.safetensors. own are the variants of the program that saved it, if it had any.
func LoadModel(g *graph.Graph, cp *checkpoint.Checkpoint, own ...parts.Registry) (*Model, error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	c, err := configOf(cp, own...)
	if err != nil {
		return nil, err
	}
	m, err := New(g, c, 1)
	if err != nil {
		return nil, err
	}
	g.SetTraining(false)
	return m, errors.Wrapf(m.readFrom(cp), "checkpoint %s", cp.Path)
}

// LoadTokenizer opens the tokenizer of a checkpoint; a checkpoint without tokenizer.json is an error. own are the kinds
// that are not the library's.
func LoadTokenizer(cp *checkpoint.Checkpoint, own ...text.Kind) (text.Tokenizer, error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	data, err := cp.File(tokenizerFile)
	if err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s: no tokenizer", cp.Path)
	}
	tok, err := text.Open(data, own...)
	return tok, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, tokenizerFile)
}

// checkTokenizer refuses another tokenizer than the checkpoint's.
func checkTokenizer(cp *checkpoint.Checkpoint, tok text.Tokenizer) error {
	data, err := cp.File(tokenizerFile)
	if err != nil {
		return err
	}
	return errors.Wrapf(text.Match(tok, data), "checkpoint %s: %s", cp.Path, tokenizerFile)
}

// configOf is the configuration of a checkpoint of a run, or of a model alone.
func configOf(cp *checkpoint.Checkpoint, own ...parts.Registry) (c Config, err error) {
	if _, missing := cp.File(train.StateFile); missing == nil {
		for _, p := range own {
			c.Parts = p
		}
		s, err := readState(cp, c.Parts)
		s.Config.MemoryLimit = 0 // it was the limit of another run, perhaps on another machine
		return s.Config, err
	}
	hf, err := cp.File(configFile)
	if err != nil {
		return c, err
	}
	return FromHuggingFace(hf, own...)
}
