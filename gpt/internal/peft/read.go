package peft

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// The files of a folder.
const (
	configFile  = "adapter_config.json"
	weightsFile = "adapter_model.safetensors"
)

// Prefix and suffixes of a matrix's name in the names of its adapter's tensors.
const (
	prefix  = "base_model.model."
	down    = ".lora_A.weight"
	up      = ".lora_B.weight"
	lengths = ".lora_magnitude_vector"
)

// maxConfig is the size of the largest configuration that is read, in bytes.
const maxConfig = 1 << 20

// Matrix is the adapter of one matrix (in, out) of the base: y = x·w + s·x·Aᵀ·Bᵀ. With lengths m it is one of DoRA (Liu
// et al. 2024, (5)), which gives every column of the sum v = w + s·Aᵀ·Bᵀ another length: y = x·v ∘ m/‖v‖.
type Matrix struct {
	Name    string    // name in the base, such as transformer.h.0.attn.c_attn
	A       []float32 // (r, in)
	B       []float32 // (out, r)
	Lengths []float32 // (out); nil without DoRA
}

// Folder is an open folder whose headers have been read. Its numbers stay on the disk until Matrices is called, so that
// the shapes can be compared with a model's first: a file may claim any size.
type Folder struct {
	Config
	Shapes []Shape
	early  bool // the folder is one of an earlier version of this library, which wrote no auto_mapping

	saved []safetensors.Entry // tensors of modules_to_save, under their names in the base

	mu     sync.Mutex
	values *os.File
	file   *safetensors.File
	list   []Matrix
}

// Shape is the size (In, Out) of a matrix of the base that has an adapter. Until both tensors are found, one of the
// sizes is 0.
type Shape struct {
	Name    string
	In, Out int
	lengths int // number of lengths
}

// Open reads the headers of the folder at dir. Its errors name the file, the key or tensor, and both values.
func Open(dir string) (*Folder, error) {
	data, err := file.Read(filepath.Join(dir, configFile), maxConfig)
	if err != nil {
		return nil, errors.Wrap(err, "adapter")
	}
	f := new(Folder)
	if f.Config, err = Parse(data); err != nil {
		return nil, errors.WithMessagef(err, "adapter %s: %s", dir, configFile)
	}
	f.early = !bytes.Contains(data, []byte(`"auto_mapping"`))
	if f.values, err = file.Open(filepath.Join(dir, weightsFile)); err != nil {
		return nil, errors.Wrap(err, "adapter")
	}
	if err := f.header(); err != nil {
		f.values.Close()
		return nil, errors.WithMessagef(err, "adapter %s: %s", dir, weightsFile)
	}
	return f, nil
}

// header reads the shapes.
func (f *Folder) header() error {
	info, err := f.values.Stat()
	if err != nil {
		return err
	}
	if f.file, err = safetensors.Open(f.values, info.Size()); err != nil {
		return err
	}
	for _, e := range f.file.Entries {
		if err := f.add(e); err != nil {
			return err
		}
	}
	for _, s := range f.Shapes {
		switch {
		case s.In == 0:
			return errors.Errorf("%s is missing", field.Clip(prefix+s.Name+down))
		case s.Out == 0:
			return errors.Errorf("%s is missing", field.Clip(prefix+s.Name+up))
		case f.DoRA && s.lengths != s.Out:
			return errors.Errorf("%s: got %d lengths, want %d", field.Clip(prefix+s.Name+lengths), s.lengths, s.Out)
		}
	}
	if len(f.Shapes) == 0 {
		return errors.New("there are no tensors")
	}
	f.listTargets()
	return nil
}

// Matrices reads the numbers, once, in the order of Shapes. It holds all of them in memory.
func (f *Folder) Matrices() ([]Matrix, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list != nil {
		return f.list, nil
	}
	list := make([]Matrix, len(f.Shapes))
	for i, s := range f.Shapes {
		list[i].Name = s.Name
	}
	for _, e := range f.file.Entries {
		name, ending := f.matrix(e.Name)
		if ending == "" {
			continue // saved
		}
		values, err := f.read(e)
		if err != nil {
			return nil, errors.WithMessagef(err, "adapter %s", f.values.Name())
		}
		switch i := slices.IndexFunc(list, func(m Matrix) bool { return m.Name == name }); ending {
		case down:
			list[i].A = values
		case up:
			list[i].B = values
		default:
			list[i].Lengths = values
		}
	}
	f.list = list
	if len(f.saved) > 0 {
		return list, nil // Saved reads the file
	}
	return list, errors.Wrap(f.values.Close(), "adapter")
}

// Saved returns the tensors that replace tensors of the base.
func (f *Folder) Saved() *safetensors.File { return &safetensors.File{Entries: f.saved} }

// Replaces returns the key of the configuration because of which the folder is no sum of the base and thin matrices, or
// an empty string.
func (f *Folder) Replaces() string {
	switch {
	case f.DoRA:
		return "use_dora"
	case len(f.saved) > 0:
		return "modules_to_save"
	}
	return ""
}
