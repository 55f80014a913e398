package published

import (
	"encoding/json"
	"slices"
	"strconv"
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
			list := make([]string, count(file, "num_hidden_layers"))
			for i := range list {
				list[i] = "full_attention"
				k := count(network, "full_attention_interval")
				if attention == "gqa_window" && (k == 0 || (i+1)%k != 0) {
					list[i] = "sliding_attention"
				}
			}
			return parse(file, "layer_types", strings.Join(list, ","))
		},
	}
}

// readWindows sets the attention of a network, its window and the interval of the blocks without one.
func readWindows(k int, file, network field.List) error {
	var window int
	if err := field.UnmarshalPart(json.RawMessage(shown(file, "sliding_window")), &window); err != nil || window < 0 {
		return errors.Errorf("sliding_window: got %s, want null or a number of tokens",
			field.Clip(shown(file, "sliding_window")))
	}
	list, err := layerTypes(file)
	if err != nil {
		return err
	}
	for _, kind := range list {
		switch {
		case kind != "full_attention" && kind != "sliding_attention":
			return errors.Errorf("layer_types: got %s, want full_attention or sliding_attention", field.Clip(kind))
		case kind == "sliding_attention" && window == 0:
			return errors.Errorf("sliding_window: got %s, want a number of tokens for the blocks of sliding_attention",
				shown(file, "sliding_window"))
		}
	}
	blocks := count(file, "num_hidden_layers")
	if len(list) > 0 {
		var ok bool
		if k, ok = every(list, func(kind string) bool { return kind == "full_attention" }); !ok {
			return errors.Errorf("layer_types: got %s, want full_attention for every k-th block alone",
				field.Clip(shown(file, "layer_types")))
		}
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

// linked returns the link between a key whose value may be null, or none, and a field that is 0 then.
func linked(key, name string, none float64) link {
	return link{
		read: func(file, network field.List) error {
			value := none
			if err := field.UnmarshalPart(json.RawMessage(shown(file, key)), &value); err != nil {
				return errors.Wrap(err, key)
			}
			if value == none {
				value = 0
			}
			return parse(network, name, plain(value))
		},
		write: func(file, network field.List) error {
			value := shown(network, name)
			if value == "0" || value == "" {
				value = plain(none)
			}
			return parse(file, key, value)
		},
	}
}
