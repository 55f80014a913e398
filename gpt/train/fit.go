package train

import (
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pkg/errors"
)

// Fit returns an error unless the checkpoint's weights, except those that passed selects, have the given total of
// numbers, and the optimizer's file only tensors of these: moments and averages of at most the parameter's size, and
// further ones of at most the square of it. It reads only their headers. All other files must be small enough for
// Checkpoint.File.
func Fit(cp *checkpoint.Checkpoint, numbers float64, passed func(safetensors.Entry) bool) error {
	if cp == nil || passed == nil {
		return errors.New("fit: the checkpoint or the function that skips weights is nil")
	}
	for _, name := range cp.Names() {
		r, err := cp.Open(name)
		if err != nil {
			return err
		}
		large := []string{WeightsFile, OptimizerFile, statesFile}
		if !slices.Contains(large, name) && r.Size() > checkpoint.MaxFile {
			return errors.Errorf("%s: got %d bytes, want at most %d", name, r.Size(), checkpoint.MaxFile)
		}
	}
	weights, err := OpenTensors(cp, WeightsFile)
	if err != nil {
		return err
	}
	sizes, n := map[string]int{}, 0.0
	for _, e := range weights.Entries {
		if passed(e) {
			continue
		}
		if e.Len() == 0 {
			return errors.Errorf("%s: %s holds no floating-point numbers", WeightsFile, field.Clip(e.Name))
		}
		sizes[e.Name] = e.Len()
		n += float64(e.Len())
	}
	if n != numbers {
		return errors.Errorf("%s: got %.0f numbers, want %.0f for this configuration", WeightsFile, n, numbers)
	}
	return fitMoments(cp, sizes)
}

func fitMoments(cp *checkpoint.Checkpoint, sizes map[string]int) error {
	moments, err := OpenTensors(cp, OptimizerFile)
	if errors.Is(err, fs.ErrNotExist) { // the checkpoint is a model alone
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range moments.Entries {
		kept, param, _ := strings.Cut(e.Name, ".")
		most := sizes[param]
		if further := !slices.Contains([]string{"m", "v", "e"}, kept); further && most > 0 {
			most *= min(most, math.MaxInt/most)
		}
		if e.Len() > most || e.Len() == 0 {
			return errors.Errorf("%s: %s: got %d numbers, want at most %d, by the size of its parameter",
				OptimizerFile, field.Clip(e.Name), e.Len(), most)
		}
	}
	return nil
}
