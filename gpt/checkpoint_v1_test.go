package gpt

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A checkpoint of format 1 opens, and the resumed run ends with the same bits as that of the program that wrote it.
func TestCheckpointV1(t *testing.T) {
	cp, err := checkpoint.Load("testdata/checkpoint-v1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := LoadModel(emptyGraph(), cp)
	if err != nil {
		t.Fatal(err)
	}
	c := m.Config
	data, tok := corpus(t, verses, c.BlockSize)
	trainer, err := Resume(c, data, tok, cp)
	if err != nil {
		t.Fatal(err)
	}
	if trainer.Done != 3 || trainer.Best != 3.6611770391464233 {
		t.Errorf("got step %d with val loss %v, want 3 and 3.6611770391464233", trainer.Done, trainer.Best)
	}
	steps(t, trainer, 3)
	if graph.Instructions() == "Go" {
		t.Skip("the bits are those of AVX2 and AVX-512")
	}
	want := map[string]string{
		train.WeightsFile:   "5bd145a3b8cdaa9340cc8e01c09496018130985ab7d2099e575392555bb4f33d",
		train.OptimizerFile: "4bcdc1d46f959fb28d10b2830965fe5b713c8267df4a646bf91ffa933b8d7dfe",
	}
	for _, f := range files(t, trainer) {
		if sum, ok := want[f.Name]; ok {
			if got := digest(t, f); got != sum {
				t.Errorf("%s of step 6: got sha256 %s, want %s", f.Name, got, sum)
			}
			delete(want, f.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("not saved: %v", want)
	}
}

func digest(t *testing.T, f checkpoint.File) string {
	t.Helper()
	h := sha256.New()
	if err := f.Write(h); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}
