package gpt_test

// trapezoid warms up for a tenth of the steps, stays, and cools down over the last fifth (Hu et al. 2024).
func trapezoid(highest float64, steps int) func(step int) float64 {
	return func(step int) float64 {
		up, down := float64(step+1)/(0.1*float64(steps)), float64(steps-step)/(0.2*float64(steps))
		return highest * min(1, up, down)
	}
}

// A schedule is a function of the step. It is in no checkpoint: pass it again to resume.
func ExampleConfig_ownSchedule() {
	c := small()
	c.Hooks.Rate = trapezoid(c.LearningRate, c.MaxIters)
	trains(c)
	// Output: the loss falls, and it writes
}
