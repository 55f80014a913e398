package published

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// readRope reads the object of a config.json about rotary positions: rope_scaling, next to which rope_theta is a key of
// its own, or rope_parameters of newer programs, which contains rope_theta.
func readRope(data []byte, file field.List) error {
	return field.EachKey(data, func(key string, value json.RawMessage) error {
		if key != "rope_scaling" && key != "rope_parameters" || string(value) == "null" {
			return nil
		}
		var rope struct {
			Theta, Partial *float64
			Type, Former   *string
		}
		into := map[string]any{
			"rope_theta":            &rope.Theta,
			"partial_rotary_factor": &rope.Partial,
			"rope_type":             &rope.Type,
			"type":                  &rope.Former, // rope_type in older files
		}
		unknown := field.EachKey(value, func(name string, value json.RawMessage) error {
			if to, ok := into[name]; ok {
				return errors.Wrap(field.UnmarshalPart(value, to), name)
			}
			if name == "factor" || isEmpty(value) { // a factor belongs to a rope_type, which is checked below
				return nil
			}
			return errors.Errorf("%s: got %s, want none: only one rotation for all blocks is supported",
				field.Clip(name), field.Clip(string(value)))
		})
		for name, kind := range map[string]*string{"rope_type": rope.Type, "type": rope.Former} {
			if kind != nil && *kind != "default" {
				return errors.Errorf("%s: %s: got %s, want default", key, name, field.Clip(*kind))
			}
		}
		if rope.Type == nil && rope.Former == nil && key == "rope_scaling" {
			return errors.Errorf("rope_scaling: got %s, want null or rope_type default", field.Clip(string(value)))
		}
		if unknown != nil {
			return errors.Wrap(unknown, key)
		}
		if p := rope.Partial; p != nil && *p != 1 {
			return errors.Errorf("%s: partial_rotary_factor: got %v, want 1", key, *p)
		}
		theta, _ := file.Find("rope_theta")
		if rope.Theta != nil {
			data, _ := json.Marshal(*rope.Theta) // a number from JSON is finite
			if err := theta.Decode(data); err != nil {
				return errors.Wrap(err, key)
			}
		}
		return errors.Wrap(theta.Check(), key)
	})
}
