package train

// linear descends along a line, to 0 if MinLR is 0, as Bergsma et al. 2025 recommend:
//
//	η₀ + (η − η₀)(1 − r),  r = (it − w)/(D − w)
func linear(t Training, it int) float64 {
	return t.course(it, func(r float64) float64 { return 1 - r })
}
