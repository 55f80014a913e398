package gpt

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// readRope reads what a config.json says of rotary positions in an object: rope_scaling beside rope_theta or, of newer
// programs, rope_parameters with rope_theta in it.
func (l *llamaFile) readRope(data []byte) error {
	return field.EachKey(data, func(key string, value json.RawMessage) error {
		if key != "rope_scaling" && key != "rope_parameters" || string(value) == "null" {
			return nil
		}
		var rope struct {
			Theta   *float64 `json:"rope_theta"`
			Type    *string  `json:"rope_type"`
			Former  *string  `json:"type"` // its name in older files
			Partial *float64 `json:"partial_rotary_factor"`
		}
		if err := field.UnmarshalPart(value, &rope); err != nil {
			return errors.Wrap(err, key)
		}
		for name, kind := range map[string]*string{"rope_type": rope.Type, "type": rope.Former} {
			if kind != nil && *kind != "default" {
				return errors.Errorf("%s: %s: got %s, want default", key, name, field.Clip(*kind))
			}
		}
		if rope.Type == nil && rope.Former == nil && key == "rope_scaling" {
			return errors.Errorf("rope_scaling: got %s, want null or rope_type default", field.Clip(string(value)))
		}
		if p := rope.Partial; p != nil && *p != 1 {
			return errors.Errorf("%s: partial_rotary_factor: got %v, want 1", key, *p)
		}
		if rope.Theta != nil {
			l.config.RopeTheta = *rope.Theta
		}
		theta, _ := l.fields().Find("rope_theta")
		return errors.Wrap(theta.Check(), key)
	})
}
