package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

var errNoCheckpoint = errors.New("checkpoint: got nil, want one of checkpoint.Load")

// Open returns the model of the newest checkpoint in dir that is intact, for use as by LoadModel, and its tokenizer;
// dir may also be the directory of one checkpoint, or the folder of a published model. own are the variants of the
// program that saved it, its tokenizers among them, if it had any. Who needs only one of both, or a graph of other
// settings, uses LoadModel and LoadTokenizer.
func Open(dir string, own ...parts.Registry) (*Model, text.Tokenizer, error) {
	return openModel(dir, whole, own)
}

// OpenCropped is Open of a model for shorter sequences, of blockSize tokens: what it has learned of later positions is
// left out. Masks and tables of positions are smaller then, and so is what training needs.
func OpenCropped(dir string, blockSize int, own ...parts.Registry) (*Model, text.Tokenizer, error) {
	return openModel(dir, func(s source) (source, error) { return s.cropped(blockSize) }, own)
}

// A cut is how much of a source is read.
type cut func(source) (source, error)

func whole(s source) (source, error) { return s, nil }

func openModel(dir string, crop cut, own []parts.Registry) (*Model, text.Tokenizer, error) {
	cp, err := checkpoint.Load(dir, fits(crop, own))
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
	m, err := loadModel(graph.New(graph.Float32, 1), cp, crop, own)
	if err != nil {
		return nil, nil, err
	}
	if tok.Size() > m.Config.VocabSize {
		return nil, nil, errors.Errorf("checkpoint %s: vocab_size: got %d in %s, want at least the tokenizer's %d",
			cp.Path, m.Config.VocabSize, configFile, tok.Size())
	}
	return m, tok, nil
}

// LoadModel builds the model of a checkpoint, for use: on an empty Graph, for batches of one, and without dropout until
// [graph.Graph.SetTraining] switches it on. The checkpoint may also be a model alone, or a published one: config.json
// of the families that FromHuggingFace knows, and model.safetensors, or several files and their index. own are the
// variants of the program that saved it, if it had any: a model that looks ahead by one of them is an error, as in
// NewTrainer.
func LoadModel(g *graph.Graph, cp *checkpoint.Checkpoint, own ...parts.Registry) (*Model, error) {
	return loadModel(g, cp, whole, own)
}

func loadModel(g *graph.Graph, cp *checkpoint.Checkpoint, crop cut, own []parts.Registry) (*Model, error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	s, err := sourceOf(cp, own...)
	if err != nil {
		return nil, err
	}
	if s, err = crop(s); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	g.SetBlank(func(string) bool { return true }) // all of them are read
	m, err := New(g, s.Config, 1)
	g.SetBlank(nil)
	if err != nil {
		return nil, err
	}
	g.SetTraining(false)
	if err := m.fill(s, cp, m.Params()); err != nil {
		return m, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	return m, errors.Wrapf(m.checkCausal(m.Config.Parts.Bidirectional), "checkpoint %s", cp.Path)
}
