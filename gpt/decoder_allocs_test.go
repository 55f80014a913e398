//go:build !race

package gpt

import (
	"fmt"
	"testing"
)

// Writing leaves the garbage collector nothing to do, also while the window slides. (Under the race detector sync.Pool
// forgets on purpose.)
func TestDecoderAllocatesNothing(t *testing.T) {
	for _, threads := range []int{1, 2} {
		m := model32(t, threads, 16)
		d, batch, s := newDecoderOf(t, m), newBatchDecoderOf(t, m, 8), NewSampler(1)
		s.TopK, s.TopP = 20, 0.9
		rows := make([][]int, 8)
		for b := range rows {
			rows[b] = []int{b}
		}
		next := 0
		for name, f := range map[string]func() error{
			"a token": func() error { _, err := d.Feed(3); return err },
			"a token drawn and fed": func() error {
				logits, err := d.Feed(next)
				if err == nil {
					next, err = s.Draw(logits)
				}
				return err
			},
			"a batch": func() error { _, err := batch.Feed(rows); return err },
		} {
			t.Run(fmt.Sprintf("%s, %d threads", name, threads), func(t *testing.T) {
				for range 20 { // the first ones make what is kept
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
