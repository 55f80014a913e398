package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// source describes where weights come from or go to: the network, the family of the files, and the number of learned
// positions in them, if it differs from the network's.
type source struct {
	Config
	family published.Family
	rows   int
}

// sourceOf returns the source of the weights of a checkpoint, either of a run or of a model alone.
func sourceOf(cp *checkpoint.Checkpoint, own parts.Registry) (s source, err error) {
	if _, missing := cp.File(train.StateFile); missing == nil {
		state, err := readState(cp, own)
		state.Config.MemoryLimit = 0 // that of the saved run, perhaps on another machine
		return source{Config: state.Config, family: published.Own()}, err
	}
	data, err := cp.File(configFile)
	if err != nil {
		return s, err
	}
	s, err = readSource(data, own)
	return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, configFile)
}

// readSource returns the contents of a config.json, without validating them.
func readSource(data []byte, own parts.Registry) (s source, err error) {
	if s.family, err = published.FamilyOf(data); err != nil {
		return source{}, err
	}
	s.Parts = own
	if err := s.family.Read(data, s.networkFields(), s.known().Activations); err != nil {
		return source{}, err
	}
	return s, nil
}

// cropped returns s for sequences of blockSize tokens, at most the number of its positions.
func (s source) cropped(blockSize int) (source, error) {
	if blockSize < 1 || blockSize > s.BlockSize {
		return s, errors.Errorf("block_size: got %d, want 1 to %d, the number of the model's positions",
			blockSize, s.BlockSize)
	}
	if blockSize < s.BlockSize {
		s.rows, s.BlockSize = s.BlockSize, blockSize
	}
	return s, nil
}

// layout returns the layout of the tensors in the files.
func (s source) layout() published.Layout {
	return published.Layout{Family: s.family, Heads: s.heads(), Rows: s.rows}
}

// lay returns the parameters as the tensors of a file.
func (s source) lay(params []graph.Expr) []train.Named { return s.layout().Tensors(params) }

// plain returns the tensors of a file that are parameters, under names without a prefix.
func (s source) plain(f *safetensors.File, ownHead bool) *safetensors.File {
	return s.layout().Parameters(f, ownHead)
}

// heads returns the layout of the columns of the attentions' projections.
func (c Config) heads() published.Heads {
	p := c.planned()
	groups := p.NHead
	if own := p.design.Attention.Groups; own != nil {
		groups = own(p.Stack)
	}
	return published.Heads{Queries: p.NHead, Groups: groups, QK: p.QKSize, V: p.VSize}
}
