package train

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// IndexFile is the name of the file that maps tensors to files if a published model's weights are in several files.
const IndexFile = "model.safetensors.index.json"

// OpenTensors reads the header of a safetensors file of a checkpoint.
func OpenTensors(cp *checkpoint.Checkpoint, name string) (*safetensors.File, error) {
	r, err := cp.Open(name)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Open(r, r.Size())
	return f, errors.Wrap(err, name)
}

// WriteWeights writes the parameters of g under their names. A Core that trains them in another goroutine waits with
// its next update until w has all of them.
func WriteWeights(w io.Writer, g *graph.Graph) error {
	if g == nil {
		return errors.New("weights: graph: got nil, want the one of a model")
	}
	return g.Shared(func(graph.Reading) error { return WriteTensors(w, Parameters(g.Params()), nil, "") })
}

// ReadWeights sets the parameters of g to those that WriteWeights has written to a checkpoint. After an error none has
// changed.
func ReadWeights(cp *checkpoint.Checkpoint, g *graph.Graph) error {
	if g == nil {
		return errors.New("weights: graph: got nil, want the one of a model")
	}
	f, err := OpenTensors(cp, WeightsFile)
	if err == nil {
		g.Exclusive(func() { err = Restore(Parameters(g.Params()), f) })
	}
	return errors.Wrap(err, "weights")
}

// OpenWeights opens WeightsFile. Without that file, it opens the files that IndexFile lists, as one. The blocks of a
// tensor in MXFP4 and its scales become one tensor.
func OpenWeights(cp *checkpoint.Checkpoint) (*safetensors.File, error) {
	f, err := openWeights(cp)
	if err != nil {
		return nil, err
	}
	return f.Joined()
}

func openWeights(cp *checkpoint.Checkpoint) (*safetensors.File, error) {
	f, err := OpenTensors(cp, WeightsFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	data, missing := cp.File(IndexFile)
	if errors.Is(missing, fs.ErrNotExist) {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	index, err := readIndex(data)
	if err != nil {
		return nil, errors.Wrap(err, IndexFile)
	}
	f, err = openShards(cp, index)
	return f, errors.Wrap(err, IndexFile)
}

// readIndex returns the name of each tensor's file, which must be in the same folder as the index.
func readIndex(data []byte) (map[string]string, error) {
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if err := field.Unmarshal(data, &index); err != nil {
		return nil, err
	}
	if len(index.Files) == 0 {
		return nil, errors.New("weight_map: got no tensors, want the file of each")
	}
	for _, tensor := range slices.Sorted(maps.Keys(index.Files)) {
		if name := index.Files[tensor]; strings.ContainsAny(name, `/\`) || strings.HasPrefix(name, ".") || name == "" {
			return nil, errors.Errorf("weight_map: %s: got file %s, want the name of one in the same folder",
				field.Clip(tensor), field.Clip(name))
		}
	}
	return index.Files, nil
}

// openShards returns the tensors of all files. Its error names all files that are missing or damaged.
func openShards(cp *checkpoint.Checkpoint, index map[string]string) (*safetensors.File, error) {
	all, left := new(safetensors.File), maps.Clone(index)
	names := slices.Compact(slices.Sorted(maps.Values(index)))
	files, wrong := make([]*safetensors.File, len(names)), []error(nil)
	for i, name := range names {
		var err error
		if files[i], err = OpenTensors(cp, name); errors.Is(err, fs.ErrNotExist) {
			err = errors.Wrap(fs.ErrNotExist, field.Clip(name))
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if err := unreadable(wrong, len(names)); err != nil {
		return nil, err
	}
	for i, name := range names {
		f := files[i]
		for _, e := range f.Entries {
			if index[e.Name] != name {
				return nil, errors.Errorf("weight_map: %s: got file %q, want %s, which holds it",
					field.Clip(e.Name), index[e.Name], name)
			}
			delete(left, e.Name)
		}
		all.Entries = append(all.Entries, f.Entries...)
	}
	for _, tensor := range slices.Sorted(maps.Keys(left)) {
		return nil, errors.Errorf("weight_map: %s: got file %s, which does not hold it",
			field.Clip(tensor), left[tensor])
	}
	return all, nil
}

// mostNamed is the number of wrong files that one message tells.
const mostNamed = 8

// unreadable returns an error that tells what is wrong with some of the files, of which there are total.
func unreadable(list []error, total int) error {
	if len(list) == 0 {
		return nil
	}
	if len(list) == 1 {
		return list[0]
	}
	rest := ""
	for _, err := range list[1:min(len(list), mostNamed)] {
		rest += "; " + err.Error()
	}
	if more := len(list) - mostNamed; more > 0 {
		rest += fmt.Sprintf("; and %d more", more)
	}
	return fmt.Errorf("%d of %d files cannot be read: %w%s", len(list), total, list[0], rest)
}
