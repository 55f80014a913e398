package gpt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecompute: dropping the blocks' activations changes no bit of the training and needs less memory.
func TestRecompute(t *testing.T) {
	for _, block := range []string{"pre", "post"} {
		train := func(recompute bool) (losses []float64, weights [][]float64, bytes int) {
			c := tiny()
			c.NLayer, c.Block, c.Dropout, c.Bias, c.Recompute = 4, block, 0.2, true, recompute
			c.BatchSize = 40 // so that activations outweigh gradients
			tr := newTrainer(t, c)
			for range 5 {
				p, err := tr.Step()
				if err != nil {
					t.Fatal(err)
				}
				losses = append(losses, p.Loss, p.Norm)
			}
			for _, p := range tr.Model.Params() {
				weights = append(weights, p.Tensor().Floats())
			}
			return losses, weights, tr.Model.Graph.Bytes()
		}
		losses, weights, kept := train(false)
		losses2, weights2, bytes2 := train(true)
		if d := cmp.Diff(losses, losses2); d != "" {
			t.Errorf("%s: losses and norms: %s", block, d)
		}
		if d := cmp.Diff(weights, weights2); d != "" {
			t.Errorf("%s: weights differ", block)
		}
		if !(float64(bytes2) < 0.7*float64(kept)) {
			t.Errorf("%s: %d bytes with recomputation, %d without", block, bytes2, kept)
		}
	}
}
