package published

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// longRoPE is the rope_type of Phi-3's and Phi-4's long contexts.
const longRoPE = "longrope"

// readLong reads a scaling of LongRoPE. Its factor is the share of max_position_embeddings and the context in training,
// which is a key beside it. Programs differ in what they read if rope_scaling has other numbers.
func (r rotation) readLong(file, network field.List) error {
	f, ok := file.Find(originalKey)
	if !ok {
		return errors.Errorf("rope_type: got %s, want another: the family has no %s", longRoPE, originalKey)
	}
	context, original := float64(count(file, "max_position_embeddings")), float64(count(file, originalKey))
	for i, key := range []string{originalKey, "factor"} {
		want := []float64{original, context / original}[i]
		if got, ok := r.numbers[key]; ok && !(math.Abs(got-want) <= 1e-9*want) {
			return errors.Errorf("%s: got %v, want %v, as max_position_embeddings %v and %s %s say", key, got, want,
				context, originalKey, f)
		}
	}
	for _, key := range []string{
		"beta_fast", "beta_slow", "mscale", "mscale_all_dim", "low_freq_factor", "high_freq_factor",
	} {
		if got, ok := r.numbers[key]; ok {
			return errors.Errorf("%s: got %v, want none with rope_type %s", key, got, longRoPE)
		}
	}
	set := []setting{
		{"rope_scaling", longRoPE}, {"rope_factor", plain(context / original)}, {"rope_original", plain(original)},
		{"rope_attention_factor", plain(r.numbers["attention_factor"])},
	}
	for _, key := range []string{"short_factor", "long_factor"} {
		var numbers []string
		for _, x := range r.lists[key] {
			if !(x > 0) {
				return errors.Errorf("%s: got %v, want numbers above 0", key, x)
			}
			numbers = append(numbers, plain(x))
		}
		if len(numbers) == 0 {
			return errors.Errorf("%s: got none, want a number for each pair of features that rotate", key)
		}
		set = append(set, setting{"rope_" + key, strings.Join(numbers, ",")})
	}
	for _, s := range set {
		if err := parse(network, s.field, s.value); err != nil {
			return err
		}
	}
	return nil
}

// longKeys returns the keys of rope_scaling for LongRoPE. Readers compute the factor on rotated features from the
// file's contexts. If the network has another factor, because its context is shorter, a key states that factor.
func longKeys(file, network field.List, factor float64) (map[string]any, error) {
	keys := map[string]any{"rope_type": longRoPE}
	context, original := float64(count(file, "max_position_embeddings")), float64(count(network, "rope_original"))
	scale, err := strconv.ParseFloat(shown(network, "rope_attention_factor"), 64)
	if err != nil {
		return nil, errors.Wrap(err, "rope_attention_factor")
	}
	if factor != context/original && scale == 0 {
		scale = math.Sqrt(1 + elementary.Log(max(1, factor))/elementary.Log(original))
	}
	if scale != 0 {
		keys["attention_factor"] = scale
	}
	for _, s := range []setting{{"rope_factor", plain(context / original)}, {"rope_attention_factor", plain(scale)}} {
		if err := parse(network, s.field, s.value); err != nil {
			return nil, err
		}
	}
	for _, key := range []string{"short_factor", "long_factor"} {
		list := "[" + shown(network, "rope_"+key) + "]"
		if !json.Valid([]byte(list)) {
			return nil, errors.Errorf("rope_%s: got %s, want numbers", key, field.Clip(list))
		}
		keys[key] = json.RawMessage(list)
	}
	return keys, nil
}
