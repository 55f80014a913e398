package gpt

import (
	"sync"
	"testing"
)

// Decoders are built and generate while their model trains. The race detector checks this if kernels are plain Go.
func TestWritingWhileTraining(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		c := tiny()
		c.Kernels = kernels
		trainer := newTrainer(t, c)
		newDecoderOf(t, trainer.Model)
		var wait sync.WaitGroup
		wait.Go(func() { steps(t, trainer, 6) })
		for range 2 {
			wait.Go(func() {
				for range 2 {
					d, err := NewDecoder(trainer.Model)
					for i := 0; err == nil && i < 3; i++ {
						_, err = d.Feed(1)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
	}
}
