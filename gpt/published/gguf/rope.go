package gguf

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// The scaling of Llama 3 (Llama Team 2024), whose borders are 1 and 4 turns in 8192 tokens in all published models.
const llama3Low, llama3High, llama3Original = 1, 4, 8192

// llama3Factor returns the factor of the wavelength of feature pair i of n: 1 for more than 4 turns, factor for less
// than 1, and between them 1/((1 − s)/factor + s), where s grows from 0 to 1 with the number of turns.
func llama3Factor(i, n int, theta, factor float64) float64 {
	turns := llama3Original * elementary.Pow(theta, -float64(i)/float64(n)) / (2 * math.Pi)
	s := max(0, min(1, (turns-llama3Low)/(llama3High-llama3Low)))
	return 1 / ((1-s)/factor + s)
}

// rope sets rope_scaling to the scaling of rotary positions: linear or yarn by keys, or Llama 3's by its factors.
func (f *File) rope(a architecture, config object, rest []Key) error {
	kind, scaling := "", object{"factor": 1.0}
	for _, k := range rest {
		var err error
		switch k.Name {
		case "rope.scaling.type":
			kind, err = k.Text()
		case "rope.scaling.factor":
			scaling["factor"], err = k.Float()
		case "rope.scaling.original_context_length":
			scaling["original_max_position_embeddings"], err = k.Int()
		}
		if err != nil {
			return errors.WithMessagef(err, "key %q", k.Name)
		}
	}
	switch {
	case kind == "" && scaling["factor"] != 1.0: // llama.cpp's default
		kind = "linear"
	case kind == "":
		kind = "none"
	}
	switch {
	case kind == "linear":
		delete(scaling, "original_max_position_embeddings")
		fallthrough
	case kind != "none" && kind != "llama3" && slices.Contains(a.scaled, kind):
		scaling["rope_type"] = kind
		config["rope_scaling"] = scaling
	case kind != "none":
		return errors.Errorf("rope.scaling.type: got %.80q, want none or linear%s", kind, a.orYarn())
	}
	for _, t := range f.Tensors {
		if t.Name == factorsName {
			if kind != "none" {
				return errors.Errorf("rope.scaling.type: got %s beside the tensor %s, want none", kind, factorsName)
			}
			return t.llama3(config)
		}
	}
	return nil
}

// orYarn returns the rest of a list of scalings.
func (a architecture) orYarn() string {
	if slices.Contains(a.scaled, "yarn") {
		return ", or yarn"
	}
	return ""
}

// llama3 sets rope_scaling to Llama 3's, if it has the tensor's factors.
func (t Tensor) llama3(config object) error {
	if t.Len() > 1<<16 {
		return errors.Errorf("tensor %s: got %d numbers, want half the features of a head", factorsName, t.Len())
	}
	got := make([]float32, t.Len())
	if err := t.Values(got, 0); err != nil {
		return err
	}
	factor, theta := 0.0, 10_000.0
	for _, x := range got {
		factor = max(factor, float64(x))
	}
	if n, ok := config["rope_theta"].(json.Number); ok {
		theta, _ = n.Float64()
	}
	for i, x := range got {
		if want := llama3Factor(i, len(got), theta, factor); !(math.Abs(float64(x)-want) <= 1e-3*want) {
			return errors.Errorf("tensor %s: number %d: got %v, want %v: only the scaling of Llama 3 is supported",
				factorsName, i, x, want)
		}
	}
	config["rope_scaling"] = object{
		"rope_type": "llama3", "factor": factor, "low_freq_factor": llama3Low, "high_freq_factor": llama3High,
		"original_max_position_embeddings": llama3Original,
	}
	return nil
}

// scaling returns the keys of rope_scaling of a config.json or, for Llama 3's, the tensor of its factors.
func (a architecture) scaling(config object) (keys []Key, factors []float32, err error) {
	scaling, ok := config["rope_scaling"].(object)
	if !ok {
		return nil, nil, nil
	}
	kind, _ := scaling["rope_type"].(string)
	factor, _ := scaling["factor"].(float64)
	original, _ := scaling["original_max_position_embeddings"].(float64)
	prefix := a.name + ".rope.scaling."
	switch {
	case kind != "linear" && !slices.Contains(a.scaled, kind):
		return nil, nil, errors.Errorf("rope_scaling: got %v, want %s", kind,
			strings.Join(append([]string{"linear"}, a.scaled...), ", "))
	case kind == "llama3" && original != llama3Original:
		return nil, nil, errors.Errorf("rope_scaling: original_max_position_embeddings: got %v with llama3, want %d",
			original, llama3Original)
	case kind == "llama3":
		theta, _ := config["rope_theta"].(float64)
		factors = make([]float32, a.headOf(config)/2)
		for i := range factors {
			factors[i] = float32(llama3Factor(i, len(factors), theta, factor))
		}
		return nil, factors, nil
	case kind == "yarn":
		for _, key := range []string{"attention_factor", "beta_fast", "beta_slow", "truncate"} {
			if got, ok := scaling[key]; ok {
				return nil, nil, errors.Errorf("rope_scaling: %s: got %v, want the default: files have no key for it",
					key, got)
			}
		}
		keys = append(keys, Key{prefix + "original_context_length", OfInt(int(original))})
	}
	return append(keys, Key{prefix + "type", OfText(kind)}, Key{prefix + "factor", OfFloat(factor)}), nil, nil
}

// headOf returns the number of features of a head in a config.json, or 0.
func (a architecture) headOf(config object) int {
	of := func(ours string) float64 {
		theirs, _ := find(a.keys, ours)
		x, _ := config[theirs].(float64)
		return x
	}
	if n := of("attention.key_length"); n > 0 {
		return int(n)
	}
	return int(of("embedding_length") / max(1, of("attention.head_count")))
}
