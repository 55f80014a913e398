package gpt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// useAll uses a checkpoint in every way until the first error.
func useAll(trainer *Trainer, path string) error {
	cp, err := checkpoint.Load(path, Fits())
	if err != nil {
		return err
	}
	defer cp.Close()
	if _, err := LoadModel(emptyGraph(), cp); err != nil {
		return err
	}
	if _, err := LoadTokenizer(cp); err != nil {
		return err
	}
	_, err = Resume(trainer.Config(), trainer.Corpus, trainer.Tokenizer, cp)
	return err
}

// TestHostileCheckpoint replaces each file of a checkpoint with each of 60 hostile ones.
func TestHostileCheckpoint(t *testing.T) {
	trainer := newTrainer(t, tiny())
	steps(t, trainer, 3)
	contents := map[string][]byte{}
	for _, f := range files(t, trainer) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = b.Bytes()
	}
	every := 4
	if testing.Short() {
		every = 16
	}
	c := fuzzed.Checkpoints{
		Largest: checkpoint.MaxFile, Every: every, Use: func(path string) error { return useAll(trainer, path) },
		Swaps: [][2]string{
			{`"F32"`, `"F64"`}, {`"F32"`, `"I8"`}, {`[41,16]`, `[41,1099511627776]`}, {`[41,16]`, `[-41,16]`}, {`"shape":[`, `"shape":[0,`}, {"wte", "w\x1be"},
			{`"step": 3`, `"step": -3`}, {`"step": 3`, `"step": 4611686018427387904`}, {`"n_layer": 2`, `"n_layer": 134217728`}, {`"n_embd": 16`, `"n_embd": 268435456`},
			{`"vocab_size": 41`, `"vocab_size": 268435456`}, {`"block_size": 8`, `"block_size": 90000`}, {`"n_head": 2`, `"n_head": 0`}, {`"seed": 7`, `"seed": 1e400`},
			{`"attention": "causal"`, `"attention": "\u001b[2J"`}, {`"batches": "`, `"batches": "` + strings.Repeat("AAAA", 1<<20)}, {`"vocab": "`, `"vocab": "\u0000`},
		},
	}
	c.Around = map[string]map[string][]byte{ // the configuration is not read where there is a state
		configFile: {train.WeightsFile: contents[train.WeightsFile], configFile: contents[configFile]},
	}
	c.Check(t, contents, train.WeightsFile, train.OptimizerFile, train.StateFile, charactersFile, configFile, fuzzed.Manifest)
}
