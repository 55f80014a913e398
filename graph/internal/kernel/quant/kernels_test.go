//go:build (amd64 || arm64) && !nosimd

package quant

// eachSet calls body once with each instruction set in use, and once with plain Go.
func eachSet(body func(set string)) {
	was := best
	defer func() { best = was }()
	names, list := sets()
	for _, set := range names {
		best = list[set]
		body(set)
	}
	best = nil
	body("Go")
}
