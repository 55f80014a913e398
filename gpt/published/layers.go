package published

import (
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// fullLayers checks the list layer_types of a family whose blocks all attend to all earlier tokens.
func fullLayers() link {
	return link{read: func(file, _ field.List) error {
		kinds, _ := file.Find("layer_types")
		if kinds.String() == "" {
			return nil
		}
		list, err := layerTypes(file)
		if err != nil {
			return err
		}
		for _, kind := range list {
			if kind != "full_attention" {
				return errors.Errorf("layer_types: got %s, want full_attention", field.Clip(kind))
			}
		}
		return kinds.Parse("")
	}}
}

// layerTypes returns the kinds of attention of the blocks, or none if the file does not list them.
func layerTypes(file field.List) (list []string, err error) {
	kinds := shown(file, "layer_types")
	if kinds == "" {
		return nil, nil
	}
	list = strings.Split(kinds, ",")
	if n, blocks := len(list), count(file, "num_hidden_layers"); n != blocks {
		return nil, errors.Errorf("layer_types: got %d, want one for each of num_hidden_layers %d", n, blocks)
	}
	return list, nil
}

// every returns k if exactly every k-th of a list, counted from 1, is special, and 0 if none is.
func every[T any](list []T, special func(T) bool) (k int, ok bool) {
	k = 1 + slices.IndexFunc(list, special)
	for i, x := range list {
		if special(x) != (k > 0 && (i+1)%k == 0) {
			return 0, false
		}
	}
	return k, true
}
