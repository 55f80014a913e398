package live

import (
	"cmp"
	"encoding/json"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// LooksFile is the name of the file beside the metrics that holds a Look a line.
const LooksFile = "looks.jsonl"

// Look is what a model wrote behind a step, and what its heads looked at on a text that stays the same.
type Look struct {
	Step   int          `json:"step"`
	Sample string       `json:"sample"`
	Tokens []string     `json:"tokens,omitempty"`
	Layers []page.Layer `json:"layers,omitempty"` // none of attention without weights
}

// Add writes it behind the others of the run in dir, and behind step 0 in their place.
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
	_, err = f.Write(append(append([]byte{'\n'}, data...), '\n')) // a line of its own behind half of a killed process's
	return cmp.Or(err, f.Close())
}
