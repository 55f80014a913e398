package published

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// fullLayers checks the list layer_types of a family whose blocks all attend to all earlier tokens.
func fullLayers() link {
	return link{read: func(file, _ field.List) error {
		kinds, err := layerTypes(file)
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			if kind != "full_attention" {
				return errors.Errorf("layer_types: got %s, want full_attention", field.Clip(kind))
			}
		}
		return nil
	}}
}

// layerTypes returns the kinds of attention of the blocks, or none if the file does not list them.
func layerTypes(file field.List) ([]string, error) {
	value := shown(file, "layer_types")
	if value == "null" {
		return nil, nil
	}
	kinds, err := list[string](value)
	if err != nil {
		return nil, errors.Wrapf(err, "layer_types: got %s", field.Clip(value))
	}
	if n, blocks := len(kinds), count(file, "num_hidden_layers"); n != blocks {
		return nil, errors.Errorf("layer_types: got %d, want one for each of num_hidden_layers %d", n, blocks)
	}
	return kinds, nil
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

// slidingTypes returns layer_types with a window in every block except every k-th; 0 means all.
func slidingTypes(blocks, k int) []string {
	kinds := make([]string, blocks)
	for i := range kinds {
		if kinds[i] = "sliding_attention"; k > 0 && (i+1)%k == 0 {
			kinds[i] = "full_attention"
		}
	}
	return kinds
}

// windows translates sliding_window and layer_types. Without layer_types, every block has the window except every k-th;
// 0 means all. The list is written if the family has a key for it.
func windows(k int) link {
	return link{
		read: func(file, network field.List) error { return readWindows(k, file, network) },
		write: func(file, network field.List) error {
			attention, window := shown(network, "attention"), shown(network, "window")
			if attention != "gqa_window" {
				window = "null"
			}
			if err := parse(file, "sliding_window", window); err != nil {
				return err
			}
			k := 1
			if attention == "gqa_window" {
				k = count(network, "full_attention_interval")
			}
			data, err := json.Marshal(slidingTypes(count(file, "num_hidden_layers"), k))
			if err != nil {
				return err
			}
			return parse(file, "layer_types", string(data))
		},
	}
}

// readWindows sets the attention of a network, its window and the interval of the blocks without one.
func readWindows(k int, file, network field.List) error {
	var window int
	value := shown(file, "sliding_window")
	err := field.UnmarshalPart(json.RawMessage(value), &window)
	if err != nil || value != "null" && window < 1 {
		return errors.Errorf("sliding_window: got %s, want null or a number of tokens", field.Clip(value))
	}
	kinds, err := layerTypes(file)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		switch {
		case kind != "full_attention" && kind != "sliding_attention":
			return errors.Errorf("layer_types: got %s, want full_attention or sliding_attention", field.Clip(kind))
		case kind == "sliding_attention" && window == 0:
			return errors.Errorf("sliding_window: got %s, want a number of tokens for the blocks of sliding_attention",
				value)
		}
	}
	blocks := count(file, "num_hidden_layers")
	if pattern := count(file, "sliding_window_pattern"); pattern > 0 { // of Gemma 3
		k = pattern
	}
	if len(kinds) > 0 {
		if err := checkSame(kinds, k, window); err != nil {
			return err
		}
		var ok bool
		if k, ok = every(kinds, func(kind string) bool { return kind == "full_attention" }); !ok {
			return errors.Errorf("layer_types: got %s, want full_attention for every k-th block alone",
				field.Clip(shown(file, "layer_types")))
		}
	}
	if window == 0 && k > 0 && k != 1 {
		return errors.Errorf("sliding_window: got %s, want a number of tokens for all blocks but every %d.", value, k)
	}
	if window == 0 || k == 1 {
		return parse(network, "attention", "gqa")
	}
	if k > blocks {
		k = 0
	}
	for _, s := range []setting{
		{"attention", "gqa_window"}, {"full_attention_interval", strconv.Itoa(k)},
		{"window", strconv.Itoa(min(window, count(file, "max_position_embeddings")))},
	} {
		if err := parse(network, s.field, s.value); err != nil {
			return err
		}
	}
	return nil
}

// checkSame returns an error if the kinds of blocks differ from families' whose programs read sliding_window alone, for
// which k is 0.
func checkSame(kinds []string, k, window int) error {
	want := "sliding_attention"
	if window == 0 {
		want = "full_attention"
	}
	for _, kind := range kinds {
		if k == 0 && kind != want {
			return errors.Errorf("layer_types: got %s, want %s in all blocks, because programs of the family read "+
				"sliding_window alone", field.Clip(kind), want)
		}
	}
	return nil
}

// linked returns the link between a key whose value may be null, or none, and a field that is 0 then.
func linked(key, name string, none float64) link {
	return link{
		read: func(file, network field.List) error {
			given, value := shown(file, key), none
			err := field.UnmarshalPart(json.RawMessage(given), &value)
			if err != nil || given != "null" && !(value > 0) {
				return errors.Errorf("%s: got %s, want null or a number above 0", key, field.Clip(given))
			}
			if value == none {
				value = 0
			}
			return parse(network, name, plain(value))
		},
		write: func(file, network field.List) error {
			value := shown(network, name)
			if value == "0" || value == "" {
				if value = "null"; none != 0 {
					value = plain(none)
				}
			}
			return parse(file, key, value)
		},
	}
}
