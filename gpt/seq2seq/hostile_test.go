package seq2seq

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// TestHostileCheckpoint replaces each file of an encoder–decoder's checkpoint by each of 60 hostile ones, among them
// states whose vocabulary is as large as the file may be.
func TestHostileCheckpoint(t *testing.T) {
	tr, v := newTrainer(t, small()), abc(t)
	steps(t, tr, 3)
	contents := map[string][]byte{}
	for _, f := range filesOf(t, tr, v, v) {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		contents[f.Name] = b.Bytes()
	}
	vocabulary := "\"unit\": \"characters\",\n    \"tokens\": ["
	if !bytes.Contains(contents[train.StateFile], []byte(vocabulary)) {
		t.Fatalf("no %q in %s", vocabulary, contents[train.StateFile])
	}
	words := strings.Builder{}
	for i := 0; words.Len() < train.MaxJSON-1<<16; i++ {
		words.WriteString(`"` + strconv.FormatInt(int64(i), 36) + `",`)
	}
	c := fuzzed.Checkpoints{
		Largest: train.MaxJSON, Every: 32,
		Use: func(path string) error {
			cp, err := checkpoint.Load(path, Fits())
			if err != nil {
				return err
			}
			defer cp.Close()
			if _, _, err := LoadModel(cp); err != nil {
				return err
			}
			_, err = Resume(tr.Model.Config, backwards{}, v, v, cp)
			return err
		},
		Swaps: [][2]string{
			{`"F32"`, `"F64"`}, {`"F32"`, `"I8"`}, {`"shape":[`, `"shape":[0,`},
			{`"shape":[`, `"shape":[1099511627776,`},
			{`"step": 3`, `"step": -3`},
			{`"step": 3`, `"step": 4611686018427387904`},
			{`"n_layer": 2`, `"n_layer": 134217728`},
			{`"n_embd": 16`, `"n_embd": 268435456`}, {`"n_head": 2`, `"n_head": 0`},
			{`"source_size": 5`, `"source_size": 90000`},
			{`"source_vocab": 9`, `"source_vocab": 268435456`},
			{`"seed": 3`, `"seed": 1e400`}, {`"attention": "`, `"attention": "\u001b[2J`},
			{vocabulary, strings.Replace(vocabulary, "characters", "words", 1) + words.String()},
			{`"characters"`, `"words"`}, {`"tokens": [`, `"tokens": ["a",`}, {`"a"`, `"\u001b[2J"`},
		},
	}
	c.Check(t, contents, train.WeightsFile, train.OptimizerFile, train.StateFile, fuzzed.Manifest)
}
