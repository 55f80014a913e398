package gpt

import (
	"encoding/json"
	"io/fs"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// LoadEnds returns the tokens with which a published model ends a text or a turn, for text.Until, BatchDecoder.Generate
// and Beam. It reads eos_token_id of generation_config.json or, if that has none, of config.json. The checkpoint of a
// run has no such tokens. Ids outside the vocabulary, which are never drawn, are left out.
func LoadEnds(cp *checkpoint.Checkpoint) (ids []int, err error) {
	if cp == nil {
		return nil, errNoCheckpoint
	}
	for _, name := range []string{generationFile, configFile} {
		data, err := cp.File(name)
		if name == generationFile && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			ids, err = readEnds(data)
		}
		if err != nil {
			return nil, errors.Wrapf(err, "checkpoint %s: %s", cp.Path, name)
		}
		if len(ids) > 0 {
			s, err := sourceOf(cp)
			return slices.DeleteFunc(ids, func(id int) bool { return id < 0 || id >= s.VocabSize }), err
		}
	}
	return nil, nil
}

// readEnds returns eos_token_id, which is a number or a list of numbers.
func readEnds(data []byte) (ids []int, err error) {
	return ids, field.EachKey(data, func(key string, value json.RawMessage) error {
		if key != "eos_token_id" || string(value) == "null" || field.UnmarshalPart(value, &ids) == nil {
			return nil
		}
		if ids = make([]int, 1); field.UnmarshalPart(value, &ids[0]) != nil {
			return errors.Errorf("%s: got %s, want a whole number, or a list of them", key, field.Clip(string(value)))
		}
		return nil
	})
}
