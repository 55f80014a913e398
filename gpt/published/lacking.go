package published

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// alsoLacking adds to the error of a folder the other files of a published model that the folder lacks, so that a
// download is completed at once. It leaves the errors of anything else as they are. The files of weights that an index
// lists, train.OpenWeights names together.
func alsoLacking(dir string, err error) error {
	list, failed := os.ReadDir(dir)
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	weights := slices.ContainsFunc(names, func(name string) bool { return filepath.Ext(name) == ".safetensors" })
	if failed != nil || !has(configFile) && !weights && !has(train.IndexFile) {
		return err
	}
	var lacking []string
	for what, there := range map[string]bool{
		configFile: has(configFile),
		tokenizerFile + " (or vocab.json and merges.txt)": has("vocab.json") && has("merges.txt") ||
			slices.ContainsFunc(text.FileNames(), has),
		train.WeightsFile: weights || has(train.IndexFile),
	} {
		if name, _, _ := strings.Cut(what, " "); !there && !strings.Contains(err.Error(), name) {
			lacking = append(lacking, what)
		}
	}
	if len(lacking) == 0 {
		return err
	}
	slices.Sort(lacking)
	return errors.WithMessagef(err, "the folder also lacks %s", strings.Join(lacking, ", "))
}
