package gpt

import (
	"math"
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Nothing is dropped while decoding, with either kind of cache, in either type.
func TestDecodingDropsNothing(t *testing.T) {
	for _, attention := range []string{"causal", "longformer"} {
		var wide [][]float64
		for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
			var logits [2][][]float64
			for i, dropout := range []float64{0, 0.4} {
				c := tiny()
				c.VocabSize = 11
				c.Attention, c.Dropout = attention, dropout
				c.Options.Offer("window", 3)
				c.Options.Offer("dilation", 1)
				m, err := New(graph.New(dtype, 3), c, 1)
				if err != nil {
					t.Fatal(err)
				}
				d := newDecoderOf(t, m)
				for _, ids := range [][]int{{1, 2, 3}, {7}, {10}} {
					logits[i] = append(logits[i], slices.Clone(feed(t, d, ids...)))
				}
			}
			for i, want := range logits[0] {
				if !slices.Equal(logits[1][i], want) {
					t.Errorf("%s, %v: got %v with dropout, %v without", attention, dtype, logits[1][i], want)
				}
			}
			if wide == nil {
				wide = logits[0]
			}
			for i := range wide {
				for j, want := range wide[i] {
					if got := logits[0][i][j]; len(wide[i]) != 11 || want == 0 || !(math.Abs(got-want) <= 1e-4) {
						t.Errorf("%s, %v: logit %d is %v, want %v", attention, dtype, j, got, want)
					}
				}
			}
		}
	}
}

// LoadTokenizer refuses a checkpoint without a tokenizer, and Resume an invalid run.
func TestLoadRefuses(t *testing.T) {
	trainer := newTrainer(t, tiny())
	steps(t, trainer, 1)
	_, err := LoadTokenizer(saved(t, 1, change(t, files(t, trainer), charactersFile, nil)))
	mustContain(t, err, "no tokenizer")
	c := trainer.Config()
	c.LogInterval = 0
	_, err = Resume(c, trainer.Corpus, trainer.Tokenizer, saved(t, 1, files(t, trainer)))
	mustContain(t, err, "log_interval")
}
