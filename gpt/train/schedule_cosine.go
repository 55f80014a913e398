package train

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// cosine is nanoGPT's schedule, half a cosine without restarts (Loshchilov, Hutter 2017, equation 5):
//
//	η₀ + (η − η₀)(1 + cos πr)/2,  r = (it − w)/(D − w)
func cosine(t Training, it int) float64 {
	return t.course(it, func(r float64) float64 { return (1 + elementary.Cos(math.Pi*r)) / 2 })
}
