package train

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pkg/errors"
)

// Fit returns an error unless the checkpoint's weights, except those that passed selects, have the given total of
// numbers. If layers, which is optional, holds the numbers of some layers by their names, the error names one that
// differs. The optimizer's file may have only tensors of these: moments and averages of at most the
// parameter's size, and further ones of at most the square of it. Fit reads only the headers of these files. All other
// files must be small enough for Checkpoint.File.
func Fit(
	cp *checkpoint.Checkpoint, numbers float64, layers map[string]float64, passed func(safetensors.Entry) bool,
) error {
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
		return errors.Errorf("%s: got %.0f numbers, want %.0f for this configuration%s",
			WeightsFile, n, numbers, differing(sizes, layers))
	}
	return fitMoments(cp, sizes)
}

// differing says which layer has other numbers in a file with tensors of the given sizes than it should have.
func differing(sizes map[string]int, layers map[string]float64) string {
	file := map[string]float64{}
	for name, n := range sizes {
		file[name[:max(0, strings.LastIndexByte(name, '.'))]] += float64(n)
	}
	for _, layer := range slices.Sorted(maps.Keys(layers)) {
		if got, want := file[layer], layers[layer]; got != want {
			return fmt.Sprintf("; layer %s: got %.0f, want %.0f", layer, got, want)
		}
	}
	for _, layer := range slices.Sorted(maps.Keys(file)) {
		if _, ok := layers[layer]; !ok && len(layers) > 0 {
			return fmt.Sprintf("; layer %s: got %.0f, want none", field.Clip(layer), file[layer])
		}
	}
	return ""
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
