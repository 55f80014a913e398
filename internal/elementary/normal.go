package elementary

import (
	"math"
	"math/rand/v2"
)

// The ziggurat of Marsaglia and Tsang, "The ziggurat method for generating random variables" (2000), section 2: layers
// of equal area cover the right half of the normal density e^(−x²/2). Layer i ends at width[i]·2³¹.
const (
	layers    = 128
	tailStart = 3.442619855899      // where the lowest layer's rectangle ends
	layerArea = 9.91256303526217e-3 // of each layer
	integers  = 1 << 31
)

// ziggurat holds for each layer the integers below which a point is in the rectangle of the layer above, the width of
// an integer, and the density at the layer's end.
var ziggurat = func() (t struct {
	inside         [layers]uint32
	width, density [layers]float32
}) {
	gauss := func(x float64) float64 { return Exp(-x * x / 2) }
	end := float64(tailStart)
	bottom := layerArea / gauss(end)
	t.inside[0], t.width[0], t.density[0] = uint32(end/bottom*integers), float32(bottom/integers), 1
	t.width[layers-1], t.density[layers-1] = float32(end/integers), float32(gauss(end))
	for i := layers - 2; i > 0; i-- {
		next := math.Sqrt(-2 * Log(layerArea/end+gauss(end)))
		t.inside[i+1] = uint32(next / end * integers)
		t.width[i], t.density[i] = float32(next/integers), float32(gauss(next))
		end = next
	}
	return t
}()

// Normal draws a number from N(0, 1). It has the bits of rng.NormFloat64 on amd64, and takes as many numbers from rng.
func Normal(rng *rand.Rand) float64 {
	for {
		bits := rng.Uint64()
		signed, layer := int32(bits), bits>>32%layers
		x := float64(signed) * float64(ziggurat.width[layer])
		if size := uint32(max(signed, -signed)); size < ziggurat.inside[layer] {
			return x
		}
		if layer == 0 {
			return math.Copysign(tail(rng), x)
		}
		low, high := ziggurat.density[layer], ziggurat.density[layer-1]
		if low+float32(float32(rng.Float64())*(high-low)) < float32(Exp(-0.5*x*x)) {
			return x
		}
	}
}

// tail draws a number from the part of the distribution beyond tailStart.
func tail(rng *rand.Rand) float64 {
	for {
		x := float64(-Log(rng.Float64()) * (1. / tailStart))
		y := -Log(rng.Float64())
		if y+y >= float64(x*x) {
			return tailStart + x
		}
	}
}
