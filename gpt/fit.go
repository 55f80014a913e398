package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Fits is what to load a gpt's checkpoints with: one whose tensors are not as many numbers as its configuration asks
// for, or whose other files are larger than checkpoint.MaxFile, is passed over before it is read. A published model has
// to have the tensors of its configuration, by name and shape. own are the variants of the program that saved it, if it
// had any.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return fits(whole, own)
}

func fits(crop cut, own []parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		all, err := sourceOf(cp, own...)
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
		most := 8 * max(size*size, float64(s.VocabSize)*float64(s.NEmbd)) // of a mask, or of a head that is tied
		return train.Fit(cp, o.base+o.adapters, func(e safetensors.Entry) bool {
			return s.skips(e.Name, o.ownHead) && float64(e.Bytes()) <= most
		})
	}
}

// matches returns an error unless s is valid and the headers of the weights have what it declares.
func (s source) matches(cp *checkpoint.Checkpoint) error {
	if err := s.ValidateModel(); err != nil {
		return errors.Wrap(err, configFile)
	}
	f, err := train.OpenWeights(cp)
	if err != nil {
		return err
	}
	if s.NLayer > len(f.Entries) { // not to declare more blocks than any file has
		return errors.Errorf("%s: n_layer: got %d blocks, the weights have %d tensors", configFile, s.NLayer, len(f.Entries))
	}
	m := s.Resolved().declare(graph.Outline(graph.Float32), 1)
	if err := m.Graph.Err(); err != nil {
		return err
	}
	_, err = train.Match(s.lay(m.Params()), s.plain(f, m.ownHead()).Entries)
	return errors.Wrap(err, "weights")
}
