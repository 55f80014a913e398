package live

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
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
	how := os.O_APPEND
	if l.Step == 0 {
		how = os.O_TRUNC
	}
	f, err := os.OpenFile(filepath.Join(dir, LooksFile), how|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(append([]byte{'\n'}, data...), '\n')) // a line of its own behind half of a killed process's
	return cmp.Or(err, f.Close())
}
