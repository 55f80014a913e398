package peft

import (
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pkg/errors"
)

// Write writes a folder, which is made where it is missing: the tensors first and the configuration, without which it
// does not open, last. One that holds an adapter is an error.
func Write(dir string, c Config, list []Matrix) error {
	config, err := c.encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return errors.Wrap(err, "adapter")
	}
	for _, name := range []string{configFile, weightsFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return errors.Errorf("adapter %s: it holds %s already, want another folder", dir, name)
		}
	}
	var tensors []safetensors.Tensor
	for _, m := range list {
		tensors = append(tensors,
			safetensors.Tensor{Name: prefix + m.Name + down, Shape: []int{c.Rank, len(m.A) / c.Rank}, F32: m.A},
			safetensors.Tensor{Name: prefix + m.Name + up, Shape: []int{len(m.B) / c.Rank, c.Rank}, F32: m.B})
	}
	err = whole(filepath.Join(dir, weightsFile), func(w io.Writer) error {
		return safetensors.Write(w, tensors, map[string]string{"format": "pt"})
	})
	if err == nil {
		err = whole(filepath.Join(dir, configFile), func(w io.Writer) error { _, err := w.Write(config); return err })
	}
	return errors.WithMessagef(err, "adapter %s", dir)
}

// whole writes a file under another name first: it is there as a whole or not at all.
func whole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".adapter-")
	if err != nil {
		return errors.WithStack(err)
	}
	defer os.Remove(f.Name())
	err = write(f)
	for _, finish := range []func() error{func() error { return f.Chmod(0o644) }, f.Sync} {
		if err == nil {
			err = finish()
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return errors.WithStack(err)
}
