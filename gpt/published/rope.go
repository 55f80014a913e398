package published

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// rotation is an object of a config.json about rotary positions: the kind of their scaling, and its numbers by key.
type rotation struct {
	kind      string
	numbers   map[string]float64
	lists     map[string][]float64 // of longrope
	unrounded bool                 // truncate is false
}

// rotary translates the keys about rotary positions: rope_theta, partial_rotary_factor, and rope_scaling, or
// rope_parameters of newer programs, which contains the first two.
func rotary() link { return rotaryKeys("rope_theta", "partial_rotary_factor") }

// rotaryKeys is rotary for files that have other names for the first two keys.
func rotaryKeys(theta, partial string) link {
	return link{
		read: func(file, network field.List) error {
			if old := shown(file, "rope_scaling"); old != "null" && shown(file, "rope_parameters") != "null" {
				return errors.Errorf("rope_scaling: got %s beside rope_parameters, want one of them", field.Clip(old))
			}
			for _, key := range []string{"rope_scaling", "rope_parameters"} {
				if object := shown(file, key); object == "{}" && key == "rope_scaling" {
					return errors.Errorf("%s: got {}, want null or a rope_type", key)
				} else if object != "null" {
					if err := readRotation(json.RawMessage(object), theta, partial, file, network); err != nil {
						return errors.Wrap(err, key)
					}
				}
			}
			return readShare(file, network, partial)
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

// readShare reads the share of the features of a head that rotate, of which programs take the whole part.
func readShare(file, network field.List, partial string) error {
	value := shown(file, partial)
	if value == "1" || value == "" {
		return nil
	}
	share, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return errors.Wrap(err, partial)
	}
	exact := share * float64(headSize(file))
	if n := int(exact); n%2 != 0 || n != int(math.Round(exact)) {
		return errors.Errorf("%s: got %s, %.6g features of head_dim %d, want an even number",
			partial, value, exact, headSize(file))
	}
	return parse(network, "partial_rotary_factor", value)
}

// readRotation reads an object about rotary positions. Scalings of a factor of 1 change nothing, and scalings of kind
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
	if r.kind == longRoPE {
		return r.readLong(file, network)
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
	if r.kind == "yarn" {
		set = append(set, r.yarn()...)
	}
	for _, s := range set {
		if err := parse(network, s.field, s.value); err != nil {
			return err
		}
	}
	return nil
}

// originalKey is the key of the context in training.
const originalKey = "original_max_position_embeddings"

// originalContext checks original_max_position_embeddings of Phi-3, which programs read for a rope_type that needs the
// context in training, unless rope_scaling has it too. For longrope they read it beside rope_scaling.
func originalContext() link {
	return link{
		read: func(file, network field.List) error {
			scaling := shown(file, "rope_scaling")
			same := count(file, originalKey) == count(file, "max_position_embeddings")
			if scaling != "null" && !strings.Contains(scaling, originalKey) && !same &&
				shown(network, "rope_scaling") != longRoPE {
				return errors.Errorf("%s: got %d, want it in rope_scaling, because programs differ in which they read",
					originalKey, count(file, originalKey))
			}
			return nil
		},
		write: func(file, network field.List) error {
			original := count(file, "max_position_embeddings")
			if shown(network, "rope_scaling") == longRoPE {
				original = count(network, "rope_original")
			}
			return parse(file, originalKey, strconv.Itoa(original))
		},
	}
}

// decodeRotation returns an object about rotary positions. A kind, a key or a number that no network can express is an
// error.
func decodeRotation(object json.RawMessage) (rotation, error) {
	r := rotation{numbers: map[string]float64{}, lists: map[string][]float64{}}
	var older string
	var number error // of the first number that is refused
	err := field.EachKey(object, func(name string, value json.RawMessage) (err error) {
		switch name {
		case "rope_type":
			err = r.name(&r.kind, value)
		case "type": // of older files
			err = r.name(&older, value)
		case "truncate":
			truncated := true
			if field.UnmarshalPart(value, &truncated) != nil || string(value) == "null" {
				err = errors.Errorf("got %s, want true or false", field.Clip(string(value)))
			}
			r.unrounded = !truncated
		case "finetuned": // says how the model was trained
		case "short_factor", "long_factor":
			r.lists[name], err = list[float64](string(value)) // of null, none
		default:
			if err := r.number(name, value); number == nil {
				number = errors.Wrap(err, field.Clip(name))
			}
		}
		return errors.Wrap(err, field.Clip(name))
	})
	switch factor, ok := r.numbers["factor"]; {
	case err != nil:
		return r, err
	case r.kind != "" && older != "" && r.kind != older:
		return r, errors.Errorf("type: got %s, want rope_type %s", field.Clip(older), field.Clip(r.kind))
	case r.kind+older == "" && ok:
		return r, errors.Errorf("factor: got %v, want none without a rope_type", factor)
	}
	if r.kind = cmp.Or(r.kind, older, "default"); !slices.Contains(rotations(), r.kind) {
		return r, errors.Errorf("rope_type: got %s, want one of %s",
			field.Clip(r.kind), strings.Join(rotations(), ", "))
	}
	if number != nil {
		return r, number
	}
	return r, r.check()
}

// name reads the kind of a scaling.
func (rotation) name(kind *string, value json.RawMessage) error {
	if field.UnmarshalPart(value, kind) != nil || *kind == "" {
		return errors.Errorf("got %s, want one of %s", field.Clip(string(value)), strings.Join(rotations(), ", "))
	}
	return nil
}

// rotations lists the kinds of scalings.
func rotations() []string {
	return []string{"default", "linear", "dynamic", "llama3", "yarn", longRoPE}
}

// number reads a number of a scaling. null is no number for those that programs derive from others, as their authors
// write it, and for keys that no scaling here has.
func (r rotation) number(name string, value json.RawMessage) error {
	null := string(value) == "null"
	switch name {
	case "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim":
		if null {
			return nil
		}
	case "rope_theta", "partial_rotary_factor", "factor", "original_max_position_embeddings", "low_freq_factor",
		"high_freq_factor":
	default:
		if null {
			return nil
		}
		return errors.Errorf("got %s, want none: such a rotation is not supported", field.Clip(string(value)))
	}
	var x float64
	if err := field.UnmarshalPart(value, &x); err != nil {
		return err
	}
	if !(x > 0) {
		return errors.Errorf("got %s, want a number above 0", field.Clip(string(value)))
	}
	r.numbers[name] = x
	return nil
}

// check returns an error for a scaling that no network can express.
func (r rotation) check() error {
	if r.kind == longRoPE {
		return nil
	}
	for _, key := range []string{"short_factor", "long_factor"} {
		if len(r.lists[key]) > 0 {
			return errors.Errorf("%s: got %d numbers, want none with rope_type %s", key, len(r.lists[key]), r.kind)
		}
	}
	if factor, ok := r.numbers["factor"]; r.kind != "default" && !(factor >= 1) {
		return errors.Errorf("factor: got %v (given: %t), want at least 1 with rope_type %s", factor, ok, r.kind)
	}
	if r.kind != "llama3" {
		return nil
	}
	if _, ok := r.numbers["original_max_position_embeddings"]; !ok {
		return errors.New("original_max_position_embeddings: got none, want the context in training with llama3")
	}
	for i, key := range []string{"low_freq_factor", "high_freq_factor"} {
		want := []float64{1, 4}[i]
		if got, given := r.numbers[key]; !(math.Abs(got-want) <= 1e-6) {
			return errors.Errorf("%s: got %v (given: %t), want %v with rope_type %s", key, got, given, want, r.kind)
		}
	}
	return nil
}

// yarn returns the settings of YaRN in which a network may differ from the paper's.
func (r rotation) yarn() []setting {
	scale := r.numbers["attention_factor"]
	magnitude := func(key string) float64 { return float64(0.1*r.numbers[key]*elementary.Log(r.numbers["factor"])) + 1 }
	if r.numbers["mscale"] > 0 && r.numbers["mscale_all_dim"] > 0 && scale == 0 { // as in DeepSeek-V3
		scale = magnitude("mscale") / magnitude("mscale_all_dim")
	}
	if math.Abs(scale-(0.1*elementary.Log(r.numbers["factor"])+1)) <= 1e-6 { // the default
		scale = 0
	}
	other := func(key string, usual float64) string {
		if x := r.numbers[key]; x != usual {
			return plain(x)
		}
		return "0"
	}
	return []setting{
		{"rope_beta_fast", other("beta_fast", 32)}, {"rope_beta_slow", other("beta_slow", 1)},
		{"rope_unrounded", strconv.FormatBool(r.unrounded)}, {"rope_attention_factor", plain(scale)},
	}
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
	switch kind {
	case longRoPE:
		if keys, err = longKeys(file, network, factor); err != nil {
			return err
		}
	case "llama3":
		keys["low_freq_factor"], keys["high_freq_factor"] = 1, 4
	case "yarn":
		if err := writeYaRN(keys, network); err != nil {
			return err
		}
	}
	object, err := json.Marshal(keys)
	if err != nil {
		return errors.Wrap(err, "rope_scaling")
	}
	return parse(file, "rope_scaling", string(object))
}

// writeYaRN writes the keys of YaRN in which a network differs from the paper's.
func writeYaRN(keys map[string]any, network field.List) error {
	for key, name := range map[string]string{
		"beta_fast": "rope_beta_fast", "beta_slow": "rope_beta_slow", "attention_factor": "rope_attention_factor",
	} {
		x, err := strconv.ParseFloat(shown(network, name), 64)
		if err != nil {
			return errors.Wrap(err, name)
		}
		if x != 0 {
			keys[key] = x
		}
	}
	if shown(network, "rope_unrounded") == "true" {
		keys["truncate"] = false
	}
	return nil
}

// plain returns a number as JSON writes it.
func plain(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
