package gpt

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
)

// The tokens that end a text are in generation_config.json, otherwise in config.json, as a number or a list. A run's
// own checkpoint has none.
func TestLoadEnds(t *testing.T) {
	_, _, all := publishedGPT2(t) // of 271 tokens, whose config.json says 50256
	for generation, want := range map[string][]int{
		"":                          {5},
		`{}`:                        {5},
		`{"eos_token_id": null}`:    {5},
		`{"eos_token_id": 7}`:       {7},
		`{"eos_token_id": [9, 0]}`:  {9, 0},
		`{"eos_token_id": [270]}`:   {270},
		`{"eos_token_id": [8,271]}`: {8},
		`{"eos_token_id": -1}`:      {},
	} {
		all[configFile] = []byte(`{"n_positions": 8, "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 271, "eos_token_id": 5}`)
		if all[generationFile] = []byte(generation); generation == "" {
			delete(all, generationFile)
		}
		if got, err := LoadEnds(opened(t, folder(t, all))); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, error %v, want %v", generation, got, err, want)
		}
	}
	for generation, want := range map[string]string{`{"eos_token_id": "</s>"}`: `generation_config.json: eos_token_id: got "</s>", want a whole number, or a list of them`, `{"eos_token_id": [1.5]}`: "eos_token_id: got [1.5], want a whole number, or a list", `[`: "generation_config.json: "} {
		all[generationFile] = []byte(generation)
		_, err := LoadEnds(opened(t, folder(t, all)))
		mustContain(t, err, want)
	}
	if got, err := LoadEnds(saved(t, 0, files(t, newTrainer(t, tiny())))); err != nil || got != nil {
		t.Errorf("a run: got %v, error %v, want none", got, err)
	}
}

func opened(t *testing.T, dir string) *checkpoint.Checkpoint {
	t.Helper()
	cp, err := checkpoint.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cp.Close() })
	return cp
}
