package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/layout"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// source is where weights come from, or go to: what the network is, and how a family calls its tensors.
type source struct {
	Config
	names layout.Names
	rows  int // of learned positions, where there are more than in the model; 0 is as many

	plainHead bool // the head's bias is in no file, and 0
}

// cropped is s for sequences of that many tokens, no more than it has positions for.
func (s source) cropped(blockSize int) (source, error) {
	if blockSize < 1 || blockSize > s.BlockSize {
		return s, errors.Errorf("block_size: got %d, want 1 to the %d that the model has positions for", blockSize, s.BlockSize)
	}
	if blockSize < s.BlockSize {
		s.rows, s.BlockSize = s.BlockSize, blockSize
	}
	return s, nil
}

// lay is parameters as they lie in a file.
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

// heads returns what the columns of the attentions' projections are.
func (c Config) heads() layout.Heads {
	c = c.Resolved()
	groups := c.NHead
	if attention := parts.Find(c.known().Attentions, c.Attention); attention.Groups != nil {
		groups = attention.Groups(c.Stack)
	}
	return layout.Heads{Queries: c.NHead, Groups: groups, QK: c.QKSize, V: c.VSize}
}

// plain returns a file's tensors that are parameters, under names without a prefix. ownHead is whether the head has a
// matrix of its own.
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

// skips reports whether a tensor is none of the parameters, but of what files have beside them.
func (s source) skips(name string, ownHead bool) bool {
	name = s.names.Plain(name)
	return s.names.Skipped(name) || !ownHead && name == layout.HeadWeight
}
