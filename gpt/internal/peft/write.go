package peft

import (
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Write writes a folder, completely or not at all. If dir exists, it must be an empty directory.
func Write(dir string, c Config, list []Matrix) error {
	config, err := c.encode()
	if err != nil {
		return err
	}
	var tensors []safetensors.Tensor
	for _, m := range list {
		tensors = append(tensors,
			safetensors.Tensor{Name: prefix + m.Name + down, Shape: []int{c.Rank, len(m.A) / c.Rank}, F32: m.A},
			safetensors.Tensor{Name: prefix + m.Name + up, Shape: []int{len(m.B) / c.Rank, c.Rank}, F32: m.B})
	}
	return checkpoint.WriteFolder(dir, []checkpoint.File{
		{Name: configFile, Write: train.WriteBytes(config)},
		{Name: weightsFile, Write: func(w io.Writer) error {
			return safetensors.Write(w, tensors, map[string]string{"format": "pt"})
		}},
	})
}
