package seq2seq

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// The files of a checkpoint.
const (
	weightsFile   = "model.safetensors"
	optimizerFile = "optimizer.safetensors"
	stateFile     = "state.json"
)

const stateFormat = 1

// State is what a checkpoint holds besides the numbers of its tensors.
type State struct {
	Format int         `json:"format"`
	Step   int         `json:"step"`
	Corpus string      `json:"corpus_sha256"` // of the pairs
	Config Config      `json:"config"`
	Source *Vocabulary `json:"source"`
	Target *Vocabulary `json:"target"`
}

// Files is the whole state of the run, for checkpoint.Dir.Save. Numbers that are not finite are refused when written.
func (t *Trainer) Files(source, target *Vocabulary) []checkpoint.File {
	s := State{stateFormat, t.Done, t.SHA256, t.Model.Config, source, target}
	return []checkpoint.File{
		{Name: weightsFile, Write: writeTensors(t.Model.tensors())},
		{Name: optimizerFile, Write: writeTensors(t.moments())},
		{Name: stateFile, Write: func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(s)
		}},
	}
}

// ReadState is the state of a checkpoint.
func ReadState(cp *checkpoint.Checkpoint) (s State, err error) {
	data, err := cp.File(stateFile)
	if err != nil {
		return s, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, stateFile)
	}
	if s.Format != stateFormat || s.Source == nil || s.Target == nil {
		return s, errors.Errorf("checkpoint %s: format %d of an encoder–decoder with two vocabularies is needed, it is %d",
			cp.Path, stateFormat, s.Format)
	}
	return s, nil
}

// Restore continues where the checkpoint was saved; the Config of the Trainer is the saved one. Other pairs are an error.
func (t *Trainer) Restore(cp *checkpoint.Checkpoint) error {
	s, err := ReadState(cp)
	if err != nil {
		return err
	}
	if s.Corpus != t.SHA256 {
		return errors.Errorf("checkpoint %s: trained on the pairs with sha256 %s, these have %s", cp.Path, s.Corpus, t.SHA256)
	}
	if err := t.Model.Restore(cp); err != nil {
		return err
	}
	if err := readTensors(cp, optimizerFile, t.moments()); err != nil {
		return err
	}
	t.Done, t.optimizer.Steps = s.Step, s.Step
	return nil
}

// Restore sets the parameters to those of the checkpoint.
func (m *Model) Restore(cp *checkpoint.Checkpoint) error {
	return readTensors(cp, weightsFile, m.tensors())
}

// named is a tensor and its name in a file.
type named struct {
	name string
	graph.Tensor
}

func (m *Model) tensors() (list []named) {
	for _, p := range m.Params() {
		list = append(list, named{p.Name(), p.Tensor()})
	}
	return list
}

func (t *Trainer) moments() (list []named) {
	t.optimizer.Moments(func(name string, m, v graph.Tensor) {
		list = append(list, named{"m." + name, m}, named{"v." + name, v})
	})
	return list
}

func writeTensors(tensors []named) func(io.Writer) error {
	return func(w io.Writer) error {
		list := make([]safetensors.Tensor, len(tensors))
		for i, t := range tensors {
			if err := t.Finite(t.name); err != nil {
				return err
			}
			list[i] = safetensors.Tensor{Name: t.name, Shape: t.Shape, F32: t.F32, F64: t.F64}
		}
		return safetensors.Write(w, list, nil)
	}
}

// readTensors overwrites the tensors by those of a file, which has to hold exactly these.
func readTensors(cp *checkpoint.Checkpoint, file string, tensors []named) error {
	data, err := cp.File(file)
	if err != nil {
		return err
	}
	list, _, err := safetensors.Read(data)
	if err != nil {
		return errors.Wrapf(err, "checkpoint %s: %s", cp.Path, file)
	}
	found := map[string]safetensors.Tensor{}
	for _, t := range list {
		found[t.Name] = t
	}
	for _, t := range tensors {
		f := found[t.name]
		if len(f.F32) != len(t.F32) || len(f.F64) != len(t.F64) || !slices.Equal(f.Shape, t.Shape) {
			return errors.Errorf("checkpoint %s: %s: %s has shape %v, the model's is %v", cp.Path, file, t.name, f.Shape, t.Shape)
		}
	}
	if len(found) != len(tensors) {
		return errors.Errorf("checkpoint %s: %s holds %d tensors, the model has %d", cp.Path, file, len(found), len(tensors))
	}
	for _, t := range tensors {
		copy(t.F32, found[t.name].F32)
		copy(t.F64, found[t.name].F64)
	}
	return nil
}
