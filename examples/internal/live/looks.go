package live

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// LooksFile is the name of the file next to the metrics, with one Look per line.
const LooksFile = "looks.jsonl"

// Look holds what a model wrote after a step, and what its heads attended to on a fixed text.
type Look struct {
	Step   int          `json:"step"`
	Sample string       `json:"sample"`
	Tokens []string     `json:"tokens,omitempty"`
	Layers []page.Layer `json:"layers,omitempty"` // empty for attention without weights
}

// Add appends l to the looks of the run in dir. At step 0 it replaces them.
func (l Look) Add(dir string) error {
	data, err := json.Marshal(l)
	if err != nil {
		return errors.Wrap(err, LooksFile)
	}
	open := file.Append
	if l.Step == 0 {
		open = file.Overwrite
	}
	f, err := open(filepath.Join(dir, LooksFile))
	if err != nil {
		return err
	}
	// The leading newline ends a partial line of a killed process.
	_, err = f.Write(append(append([]byte{'\n'}, data...), '\n'))
	return cmp.Or(err, f.Close())
}
