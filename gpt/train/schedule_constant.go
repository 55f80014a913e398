package train

// constant is η throughout, without a warm-up.
func constant(t Training, _ int) float64 { return t.LearningRate }
