package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Fits returns the condition for loading checkpoints of this package. A checkpoint is skipped before it is read if its
// tensors differ in the total of their numbers from its configuration, or if its other files are larger than
// checkpoint.MaxFile. A published model must have the tensors of its configuration, by name and shape. own holds the
// user-defined variants of the program that saved the checkpoint, if any.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return fits(uncropped, parts.Join(own...))
}

func fits(crop cut, own parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		all, err := sourceOf(cp, own)
		if err != nil {
			return err
		}
		s, err := crop(all)
		if err != nil {
			return err
		}
		if cp.Published {
			return s.matches(cp)
		}
		o, err := all.validated()
		if err != nil {
			return err
		}
		size := float64(all.BlockSize)
		most := 8 * max(size*size, float64(s.VocabSize)*float64(s.NEmbd)) // bytes of a mask, or of a tied head
		return train.Fit(cp, o.base+o.adapters, func(e safetensors.Entry) bool {
			return s.layout().Skips(e.Name, o.ownHead) && float64(e.Bytes()) <= most
		})
	}
}

// matches returns an error unless s is valid and the headers of the weights contain what it declares.
func (s source) matches(cp *checkpoint.Checkpoint) error {
	if err := s.ValidateModel(); err != nil {
		return errors.Wrap(err, configFile)
	}
	f, err := train.OpenWeights(cp)
	if err != nil {
		return err
	}
	if s.NLayer > len(f.Entries) { // do not declare more blocks than the file can have
		return errors.Errorf("%s: n_layer: got %d blocks, the weights have %d tensors",
			configFile, s.NLayer, len(f.Entries))
	}
	m := s.Resolved().declare(graph.Outline(graph.Float32), 1)
	if err := m.Graph.Err(); err != nil {
		return err
	}
	_, err = train.Match(s.lay(m.Params()), s.plain(f, m.ownHead()).Entries)
	return errors.Wrap(err, "weights")
}
