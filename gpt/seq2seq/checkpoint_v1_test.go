package seq2seq

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// oldPairs returns the pairs that the run of testdata was trained on: all of the file's except one in twenty.
func oldPairs(t *testing.T) (pairs list, source, target *Vocabulary) {
	t.Helper()
	data, err := os.ReadFile("testdata/pairs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	source, _ = NewVocabulary("words")
	target, _ = NewVocabulary("characters")
	for line := range strings.Lines(string(data)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), "\t")
		source.Add(from)
		target.Add(to)
		h := fnv.New32a()
		h.Write([]byte(from))
		if float64(h.Sum32())/(1<<32) < 0.05 {
			continue
		}
		var p Pair
		if p.Source, err = source.Encode(from); err != nil {
			t.Fatal(err)
		}
		if p.Target, err = target.Encode(to); err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, p)
	}
	return pairs, source, target
}

// A checkpoint of format 1 opens with its window converted, and the run resumed from it ends with the same bits as the
// program that wrote it.
func TestCheckpointV1(t *testing.T) {
	cp, err := checkpoint.Load("testdata/checkpoint-v1")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadState(cp)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Config.Options.Get("window"); got != 2 { // format 1's 3 was one token on either side
		t.Errorf("got window %d, want 2", got)
	}
	c := s.Config // the keys that format 1 lacks
	if got := []any{
		c.GradientAccumulationSteps, c.DecayLR, c.EvalInterval, c.EvalIters, c.LogInterval,
	}; !slices.Equal(got, []any{1, true, 500, 1, 50}) {
		t.Errorf("got accumulation, decay and intervals %v, want 1, true, 500, 1, 50", got)
	}
	pairs, source, target := oldPairs(t)
	tr, err := Resume(s.Config, pairs, source, target, cp)
	if err != nil {
		t.Fatal(err)
	}
	steps(t, tr, 3)
	// Elsewhere the compiler fuses multiplications and additions of Go code.
	if graph.Instructions() == "Go" || runtime.GOARCH != "amd64" {
		t.Skip("the bits are those of AVX2 and AVX-512")
	}
	want := map[string]string{
		train.WeightsFile:   "738f5e3c6161bdd0ad58d468ac114efbbda480dc989311d6dd8d30a4c1e48998",
		train.OptimizerFile: "1b6d4f2aa6b51b68fd1fe1ffc6ef0386c8f61535191e90ef1cca73bebc672efd",
	}
	files, err := tr.Files(source, target)
	check(t, err)
	for _, f := range files {
		h := sha256.New()
		if err := f.Write(h); err != nil {
			t.Fatal(err)
		}
		if sum, ok := want[f.Name]; ok && hex.EncodeToString(h.Sum(nil)) != sum {
			t.Errorf("%s of step 6: got sha256 %x, want %s", f.Name, h.Sum(nil), sum)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("not saved: %v", want)
	}
}
