package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// source describes where weights come from or go to: the network, and a family's names of its tensors.
type source struct {
	Config
	names layout.Names
	rows  int // number of learned positions in the file; 0 means the same as in the model

	plainHead bool // the file has no bias of the head, which is 0
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

// lay returns the parameters as the tensors of a file.
func (s source) lay(params []graph.Expr) (list []train.Named) {
	heads := s.heads()
	for _, t := range train.Parameters(params) {
		switch {
		case t.Name == "wpe.weight":
			t.Rows = s.rows
		case t.Name == "lm_head.bias" && s.plainHead:
			continue
		}
		for _, p := range s.names.Pieces(t.Name, heads) {
			t.Name, t.Turned, t.Columns = p.Name, p.Turned, p.Columns
			list = append(list, t)
		}
	}
	return list
}

// heads returns the layout of the columns of the attentions' projections.
func (c Config) heads() layout.Heads {
	c = c.Resolved()
	groups := c.NHead
	if attention := parts.Find(c.known().Attentions, c.Attention); attention.Groups != nil {
		groups = attention.Groups(c.Stack)
	}
	return layout.Heads{Queries: c.NHead, Groups: groups, QK: c.QKSize, V: c.VSize}
}

// plain returns the tensors of a file that are parameters, under names without a prefix. ownHead reports whether the
// head has a separate matrix.
func (s source) plain(f *safetensors.File, ownHead bool) *safetensors.File {
	var entries []safetensors.Entry
	for _, e := range f.Entries {
		if !s.skips(e.Name, ownHead) {
			e.Name = s.names.Plain(e.Name)
			entries = append(entries, e)
		}
	}
	return &safetensors.File{Entries: entries, Metadata: f.Metadata}
}

// skips reports whether a tensor of a file is a buffer, or a copy of the tied head, rather than a parameter.
func (s source) skips(name string, ownHead bool) bool {
	name = s.names.Plain(name)
	return s.names.Skipped(name) || !ownHead && name == layout.HeadWeight
}
