package train

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// The files that every checkpoint of a run has.
const (
	WeightsFile   = "model.safetensors"
	OptimizerFile = "optimizer.safetensors"
	StateFile     = "state.json"
)

// MaxJSON is the size of the largest file that WriteJSON writes, in bytes.
const MaxJSON = 4 << 20

// ReadJSON reads a file of a checkpoint, of at most most bytes, into v. An unknown key, and anything after the object,
// are errors.
func ReadJSON(cp *checkpoint.Checkpoint, name string, most int, v any) error {
	data, err := cp.File(name)
	if err != nil {
		return err
	}
	if len(data) > most {
		return errors.Errorf("checkpoint %s: %s: got %d bytes, want at most %d", cp.Path, name, len(data), most)
	}
	return errors.Wrapf(field.UnmarshalStrict(data, v), "checkpoint %s: %s", cp.Path, name)
}

// PeekJSON reads a file of a checkpoint into v, which may have only some of the file's keys.
func PeekJSON(cp *checkpoint.Checkpoint, name string, v any) error {
	if cp == nil {
		return errors.New("checkpoint: got nil, want one that was opened")
	}
	data, err := cp.File(name)
	if err != nil {
		return err
	}
	return errors.Wrapf(field.Unmarshal(data, v), "checkpoint %s: %s", cp.Path, name)
}

// WriteBytes returns a function that writes data into a file of a checkpoint.
func WriteBytes(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

// WriteJSON returns a function that writes v, indented, into a file of a checkpoint. More than MaxJSON bytes, which
// could not be read again, are an error.
func WriteJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		if err := e.Encode(v); err != nil {
			return err
		}
		if b.Len() > MaxJSON {
			return errors.Errorf("got %d bytes, want at most %d", b.Len(), MaxJSON)
		}
		_, err := b.WriteTo(w)
		return err
	}
}
