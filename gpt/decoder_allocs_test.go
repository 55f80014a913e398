//go:build !race

package gpt

import (
	"fmt"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Decoding allocates nothing, also while the window slides. (Under the race detector sync.Pool drops items on purpose.)
func TestDecoderAllocatesNothing(t *testing.T) {
	for _, threads := range []int{1, 2} {
		m := model32(t, threads, 16)
		d, batch, s := newDecoderOf(t, m), newBatchDecoderOf(t, m, 8), search.NewSampler(1)
		packed := newDecoderOf(t, mustPack(t, m, graph.Int8))
		s.TopK, s.TopP, s.MinP, s.RepetitionPenalty = 20, 0.9, 0.01, 1.2
		rows := make([][]int, 8)
		for b := range rows {
			rows[b] = []int{b}
		}
		next := 0
		for name, f := range map[string]func() error{
			"a token": func() error { _, err := d.Feed([]int{3}); return err },
			"a token drawn and fed": func() error {
				logits, err := d.Feed([]int{next})
				if err == nil {
					next, err = s.Draw(logits, 3, 64, 3)
				}
				return err
			},
			"a token with packed weights": func() error { _, err := packed.Feed([]int{3}); return err },
			"a batch":                     func() error { _, err := batch.Feed(rows...); return err },
		} {
			t.Run(fmt.Sprintf("%s, %d threads", name, threads), func(t *testing.T) {
				for range 20 { // the first ones allocate buffers that are reused
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}
				if n := testing.AllocsPerRun(40, func() { _ = f() }); n != 0 {
					t.Errorf("%v allocations, want none", n)
				}
			})
		}
	}
}
