package peft

import (
	"io"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pkg/errors"
)

// The files of a folder.
const (
	configFile  = "adapter_config.json"
	weightsFile = "adapter_model.safetensors"
)

// What stands around a matrix's name in the names of its adapter's tensors.
const (
	prefix = "base_model.model."
	down   = ".lora_A.weight"
	up     = ".lora_B.weight"
)

// maxConfig is the bytes of the largest configuration that is read.
const maxConfig = 1 << 20

// Matrix is the adapter of one matrix (in, out) of the base: y = x·w + s·x·Aᵀ·Bᵀ.
type Matrix struct {
	Name string    // of the base's, such as transformer.h.0.attn.c_attn
	A    []float32 // (r, in)
	B    []float32 // (out, r)
}

// Read reads the folder at dir. What is wrong is an error that names the file, the key or tensor, and both values.
func Read(dir string) (c Config, list []Matrix, err error) {
	f, err := os.Open(filepath.Join(dir, configFile))
	if err != nil {
		return c, nil, errors.Wrap(err, "adapter")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = errors.Errorf("longer than %d bytes", maxConfig)
	}
	if err == nil {
		c, err = Parse(data)
	}
	if err != nil {
		return c, nil, errors.WithMessagef(err, "adapter %s: %s", dir, configFile)
	}
	w, err := os.Open(filepath.Join(dir, weightsFile))
	if err != nil {
		return c, nil, errors.Wrap(err, "adapter")
	}
	defer w.Close()
	if list, err = c.read(w); err != nil {
		return c, nil, errors.WithMessagef(err, "adapter %s: %s", dir, weightsFile)
	}
	return c, list, nil
}

func (c Config) read(w *os.File) ([]Matrix, error) {
	info, err := w.Stat()
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Open(w, info.Size())
	if err != nil {
		return nil, err
	}
	var list []Matrix
	for _, e := range f.Entries {
		if list, err = c.add(list, f, e); err != nil {
			return nil, err
		}
	}
	for _, m := range list {
		switch {
		case m.A == nil:
			return nil, errors.Errorf("%s is missing", field.Clip(prefix+m.Name+down))
		case m.B == nil:
			return nil, errors.Errorf("%s is missing", field.Clip(prefix+m.Name+up))
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there are no tensors")
	}
	return list, nil
}
