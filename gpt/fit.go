package gpt

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Fits is what to load a gpt's checkpoints with: one whose tensors are not as many numbers as its configuration asks
// for, or whose other files are larger than checkpoint.MaxFile, is passed over before it is read. own are the variants
// of the program that saved it, if it had any.
func Fits(own ...parts.Registry) checkpoint.Fit {
	return func(cp *checkpoint.Checkpoint) error {
		c, err := configOf(cp, own...)
		if err != nil {
			return err
		}
		o, err := c.validated()
		if err != nil {
			return err
		}
		size := float64(c.BlockSize)
		most := 8 * max(size*size, float64(c.VocabSize)*float64(c.NEmbd)) // of a mask, or of a head that is tied
		return train.Fit(cp, o.base+o.adapters, func(e safetensors.Entry) bool {
			return notRead(e.Name, o.ownHead) && float64(e.Bytes()) <= most
		})
	}
}
