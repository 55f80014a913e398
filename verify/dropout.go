package verify

import (
	"sync"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// remembered returns draw with its results stored by path, so that each derivative uses the same masks on any thread.
func remembered(draw func(path string) hand.Matrix[float64]) func(path string) hand.Matrix[float64] {
	var lock sync.Mutex
	drawn := map[string]hand.Matrix[float64]{}
	return func(path string) hand.Matrix[float64] {
		lock.Lock()
		defer lock.Unlock()
		mask, ok := drawn[path]
		if !ok {
			mask = draw(path)
			drawn[path] = mask
		}
		return mask
	}
}
