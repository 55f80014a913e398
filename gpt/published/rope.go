package published

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// rotation is an object of a config.json about rotary positions: the kind of their scaling, and its numbers by key.
type rotation struct {
	kind    string
	numbers map[string]float64
}

// rotary translates the keys about rotary positions: rope_theta, partial_rotary_factor, and rope_scaling, or
// rope_parameters of newer programs, which contains the first two.
func rotary() link { return rotaryKeys("rope_theta", "partial_rotary_factor") }

// rotaryKeys is rotary for files that have other names for the first two keys.
func rotaryKeys(theta, partial string) link {
	return link{
		read: func(file, network field.List) error {
			for _, key := range []string{"rope_scaling", "rope_parameters"} {
				if object := shown(file, key); object != "null" {
					if err := readRotation(json.RawMessage(object), theta, partial, file, network); err != nil {
						return errors.Wrap(err, key)
					}
				}
			}
			if share := shown(file, partial); share != "1" && share != "" {
				return parse(network, "partial_rotary_factor", share)
			}
			return nil
		},
		write: func(file, network field.List) error {
			if share := shown(network, "partial_rotary_factor"); share != "0" && share != "" {
				if err := parse(file, partial, share); err != nil {
					return err
				}
			}
			return writeRotation(file, network)
		},
	}
}

// readRotation reads an object about rotary positions. Scalings of a factor of 1 change nothing, and those of kind
// dynamic only what lies beyond the model's context.
func readRotation(object json.RawMessage, theta, partial string, file, network field.List) error {
	r, err := decodeRotation(object)
	if err != nil {
		return err
	}
	for key, to := range map[string]string{"rope_theta": theta, "partial_rotary_factor": partial} {
		value, ok := r.numbers[key]
		if !ok {
			continue
		}
		if err := parse(file, to, plain(value)); err != nil {
			return err
		}
		if f, _ := file.Find(to); f.Check() != nil {
			return f.Check()
		}
	}
	if slices.Contains([]string{"default", "dynamic"}, r.kind) || r.numbers["factor"] == 1 {
		return nil
	}
	set := []setting{{"rope_scaling", r.kind}, {"rope_factor", plain(r.numbers["factor"])}}
	if r.kind != "linear" {
		original, ok := r.numbers["original_max_position_embeddings"]
		if !ok {
			original = float64(count(file, "max_position_embeddings"))
		}
		set = append(set, setting{"rope_original", plain(original)})
	}
	for _, s := range set {
		if err := parse(network, s.field, s.value); err != nil {
			return err
		}
	}
	return nil
}

// decodeRotation returns an object about rotary positions. A kind, a key or a number that no network can express is an
// error.
func decodeRotation(object json.RawMessage) (rotation, error) {
	r := rotation{numbers: map[string]float64{}}
	var unknown error
	err := field.EachKey(object, func(name string, value json.RawMessage) error {
		switch name {
		case "rope_type", "type": // type is the key of older files
			return errors.Wrap(field.UnmarshalPart(value, &r.kind), name)
		case "rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings", "low_freq_factor",
			"high_freq_factor", "beta_fast", "beta_slow", "attention_factor":
			if string(value) == "null" {
				return nil
			}
			var x float64
			err := field.UnmarshalPart(value, &x)
			r.numbers[name] = x
			return errors.Wrap(err, name)
		}
		if !isEmpty(value) && unknown == nil && !(name == "truncate" && string(value) == "true") {
			unknown = errors.Errorf("%s: got %s, want none: such a rotation is not supported",
				field.Clip(name), field.Clip(string(value)))
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	if factor, ok := r.numbers["factor"]; ok && r.kind == "" {
		return r, errors.Errorf("factor: got %v, want none without a rope_type", factor)
	}
	r.kind = cmp.Or(r.kind, "default")
	if err := r.check(); err != nil {
		return r, err
	}
	return r, unknown
}

// fixedNumbers returns the numbers of a scaling that are the same in all networks.
func (r rotation) fixedNumbers() map[string]float64 {
	switch r.kind {
	case "llama3":
		return map[string]float64{"low_freq_factor": 1, "high_freq_factor": 4}
	case "yarn":
		return map[string]float64{
			"beta_fast": 32, "beta_slow": 1, "attention_factor": 0.1*math.Log(r.numbers["factor"]) + 1,
		}
	}
	return nil
}

// check returns an error for a scaling that no network can express.
func (r rotation) check() error {
	kinds := []string{"default", "linear", "dynamic", "llama3", "yarn"}
	if !slices.Contains(kinds, r.kind) {
		return errors.Errorf("rope_type: got %s, want one of %s", field.Clip(r.kind), strings.Join(kinds, ", "))
	}
	if factor, ok := r.numbers["factor"]; r.kind != "default" && !(factor >= 1) {
		return errors.Errorf("factor: got %v (given: %t), want at least 1 with rope_type %s", factor, ok, r.kind)
	}
	fixed := r.fixedNumbers()
	for _, key := range []string{"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "attention_factor"} {
		got, given := r.numbers[key]
		want, read := fixed[key]
		if given && read && !(math.Abs(got-want) <= 1e-6) {
			return errors.Errorf("%s: got %v, want %v with rope_type %s", key, got, want, r.kind)
		}
	}
	if _, ok := r.numbers["original_max_position_embeddings"]; r.kind == "llama3" && !ok {
		return errors.New("original_max_position_embeddings: got none, want the context in training with llama3")
	}
	return nil
}

// writeRotation writes rope_scaling.
func writeRotation(file, network field.List) error {
	kind := shown(network, "rope_scaling")
	if _, ok := file.Find("rope_scaling"); !ok || kind == "" || kind == "none" {
		return nil
	}
	factor, err := strconv.ParseFloat(shown(network, "rope_factor"), 64)
	if err != nil {
		return errors.Wrap(err, "rope_factor")
	}
	keys := map[string]any{"rope_type": kind, "factor": factor}
	if n := count(network, "rope_original"); n > 0 {
		keys["original_max_position_embeddings"] = n
	}
	if kind == "llama3" {
		keys["low_freq_factor"], keys["high_freq_factor"] = 1, 4
	}
	object, err := json.Marshal(keys)
	if err != nil {
		return errors.Wrap(err, "rope_scaling")
	}
	return parse(file, "rope_scaling", string(object))
}

// plain returns a number as JSON writes it.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
