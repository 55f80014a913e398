package train

import (
	"cmp"
	"math"

	"github.com/pkg/errors"
)

// wsd is warm-up, stable, decay (Hu et al. 2024, MiniCPM): η until iteration D − k, and then the cooldown that Hägele
// et al. 2024 find best, 1 − √, where k is CooldownIters:
//
//	η₀ + (η − η₀)(1 − √c),  c = max(0, it − (D − k))/k
func wsd(t Training, it int) float64 {
	return t.course(it, func(float64) float64 {
		k := t.cooldown()
		return 1 - math.Sqrt(float64(max(0, it-(t.LRDecayIters-k)))/float64(k))
	})
}

// cooldown returns CooldownIters, by default a fifth of LRDecayIters, and at least 1.
func (t Training) cooldown() int {
	return cmp.Or(t.CooldownIters, max(1, min(t.LRDecayIters/5, t.LRDecayIters-t.WarmupIters)))
}

func checkWSD(t Training) error {
	if most := t.LRDecayIters - t.WarmupIters; most > 0 && t.CooldownIters > most {
		return errors.Errorf("cooldown_iters: got %d, want at most %d, lr_decay_iters without warmup_iters",
			t.CooldownIters, most)
	}
	t.CooldownIters = 0
	return t.descends()
}
