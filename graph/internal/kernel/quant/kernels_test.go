//go:build (amd64 || arm64) && !nosimd

package quant

// eachSet calls body once with each instruction set in use, once without its products of whole numbers, as on some ARM
// processors, and once with plain Go.
func eachSet(body func(set string)) {
	was := best
	defer func() { best = was }()
	names, list := sets()
	for _, set := range names {
		best = list[set]
		body(set)
	}
	if best != nil {
		best = &kernels{f32: best.f32, bf16: best.bf16}
		body("floats")
	}
	best = nil
	body("Go")
}
