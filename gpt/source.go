package gpt

import (
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Source is a model in files, from which a model is read or fine-tuning begins: the checkpoint of a run, a model alone,
// or with package gpt/published a model of another program. Start with SourceOf.
type Source struct {
	Config     Config // of the network
	Checkpoint *checkpoint.Checkpoint
	Layout     Layout // nil means ours

	// Separate, which is optional, reports whether other programs have a matrix each for the queries, keys and values
	// of a network. Then LoraFused joins no adapters.
	Separate func(Config) bool
	// Store, which is optional, declares how a graph stores some of the parameters, which are on another graph: see
	// [graph.Graph.StorePacked].
	Store func(g *graph.Graph, params []graph.Expr) error

	positions int // learned positions in the files, if they differ from the network's
}

// SourceOf returns the source of a checkpoint, either of a run or of a model alone. own holds the user-defined variants
// of the program that saved it, if any.
func SourceOf(cp *checkpoint.Checkpoint, own ...parts.Registry) (Source, error) {
	if cp == nil {
		return Source{}, errNoCheckpoint
	}
	registry := parts.Join(own...)
	s := Source{Checkpoint: cp}
	if _, missing := cp.File(train.StateFile); missing == nil {
		state, err := readState(cp, registry)
		state.Config.MemoryLimit = 0 // the saved run was perhaps on another machine
		s.Config = state.Config
		return s, err
	}
	data, err := cp.File(configFile)
	if err != nil {
		return s, err
	}
	s.Config, err = FromHuggingFace(data, registry)
	return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, configFile)
}

// Crop returns s for shorter sequences of blockSize tokens, at most the number of its positions, without the weights of
// later positions.
func (s Source) Crop(blockSize int) (Source, error) {
	if blockSize < 1 || blockSize > s.Config.BlockSize {
		return s, errors.Errorf("block_size: got %d, want 1 to %d, the number of the model's positions",
			blockSize, s.Config.BlockSize)
	}
	if blockSize < s.Config.BlockSize {
		s.positions, s.Config.BlockSize = s.Config.BlockSize, blockSize
	}
	if s.Config.Options.Get("window") > blockSize {
		s.Config.Options.Offer("window", blockSize)
	}
	return s, nil
}

// layout returns the layout of the tensors in the files.
func (s Source) layout() Layout {
	l := s.Layout
	if l == nil {
		l = gpt2Layout{}
	}
	if s.positions > 0 {
		l = shorter{l, s.positions}
	}
	return l
}

// Check returns an error if the headers of the files do not fit the configuration, before the weights are read. Of a
// checkpoint of this library the tensors must have as many numbers in total as the configuration, and other files must
// not be larger than checkpoint.MaxFile. A model of another program must have the tensors of its configuration, by name
// and shape.
func (s Source) Check() error {
	if s.Checkpoint == nil {
		return errNoCheckpoint
	}
	if s.Checkpoint.Published {
		return s.matches()
	}
	c := s.Config
	if s.positions > 0 {
		c.BlockSize = s.positions
	}
	_, o, err := c.validated()
	if err != nil {
		return err
	}
	numbers := o.base + o.adapters
	alone, err := adaptersAlone(s.Checkpoint, c)
	if err != nil {
		return err
	}
	layers := o.layers
	if c.NLayer > mostDeclared {
		layers = nil
	}
	if alone {
		numbers, layers = o.adapters, nil
	}
	layout := s.layout()
	size := float64(c.BlockSize)
	most := 8 * max(size*size, float64(c.VocabSize)*float64(c.NEmbd)) // bytes of a mask, or of a tied head
	return train.Fit(s.Checkpoint, numbers, layers, func(e safetensors.Entry) bool {
		return skips(layout, e.Name, o.ownHead) && float64(e.Bytes()) <= most
	})
}

// matches returns an error unless s is valid and the headers of the weights contain what it declares.
func (s Source) matches() error {
	if err := s.Config.onKernels().ValidateModel(); err != nil {
		return errors.Wrap(err, configFile)
	}
	f, err := train.OpenWeights(s.Checkpoint)
	if err != nil {
		return err
	}
	if s.Config.NLayer > len(f.Entries) { // do not declare more blocks than the file can have
		return errors.Errorf("%s: n_layer: got %d blocks, the weights have %d tensors",
			configFile, s.Config.NLayer, len(f.Entries))
	}
	m := s.Config.planned().targeted().declare(graph.Outline(graph.Float32), 1)
	if err := m.Graph.Err(); err != nil {
		return err
	}
	_, err = train.Match(s.layout().Tensors(m.Params()), parameters(s.layout(), f, m.ownHead()).Entries)
	return errors.Wrap(err, "weights")
}

// onKernels returns c for a graph with kernels: whether a network computes with them is up to the graph on which it is
// built.
func (c Config) onKernels() Config {
	c.Kernels = true
	return c
}

// Model builds the model of s for inference, on an empty Graph, as LoadModel does.
func (s Source) Model(g *graph.Graph) (*Model, error) {
	if g == nil {
		return nil, errors.New("graph: got nil, want one from graph.New")
	}
	if s.Checkpoint == nil {
		return nil, errNoCheckpoint
	}
	if s.Store != nil {
		like := s.Config.planned().targeted().declare(graph.Outline(graph.Float32), 1)
		err := like.Graph.Err()
		if err == nil {
			err = s.Store(g, like.Params())
		}
		if err != nil {
			return nil, errors.Wrapf(err, "file %s", s.Checkpoint.Path)
		}
	}
	g.SetBlank(func(string) bool { return true }) // all parameters are read from the files
	m, err := New(g, s.Config, 1)
	g.SetBlank(nil)
	if err != nil {
		return nil, err
	}
	g.SetTraining(false)
	if err := m.fill(s, m.numbered()); err != nil {
		return m, errors.Wrapf(err, "checkpoint %s", s.Checkpoint.Path)
	}
	return m, errors.Wrapf(m.checkCausal(m.Config.Parts.Bidirectional), "checkpoint %s", s.Checkpoint.Path)
}

// fill sets exactly these parameters from s, a source of m's model, or of the model on which m is built. After an error
// some of them are set.
func (m *Model) fill(s Source, params []graph.Expr) error {
	alone, err := adaptersAlone(s.Checkpoint, s.Config)
	if err != nil {
		return err
	}
	if alone {
		return errors.New("got adapters without the weights to which they belong: " +
			"FineTune and Trainer.Restore continue them")
	}
	f, err := train.OpenWeights(s.Checkpoint)
	if err == nil {
		err = train.Fill(s.layout().Tensors(params), m.unpackedIn(s, parameters(s.layout(), f, m.ownHead())))
	}
	if err == nil && !m.ownHead() {
		err = m.checkTied(s.layout(), f)
	}
	return errors.Wrap(err, "weights")
}

// unpackedIn returns the tensors of a file except the tensors of packed parameters.
func (m *Model) unpackedIn(s Source, f *safetensors.File) *safetensors.File {
	stored := slices.DeleteFunc(slices.Clone(m.Params()), func(p graph.Expr) bool { return !packed(p) })
	for _, t := range s.layout().Tensors(stored) {
		f.Entries = slices.DeleteFunc(f.Entries, func(e safetensors.Entry) bool { return e.Name == t.Name })
	}
	return f
}
