package program

import (
	"math"
	"testing"
)

// A curve of a million steps has at most 2048 points and one for the rest, evenly spaced from the first step to the
// last, and none is lost: the mean over the points, weighted by their numbers of values, is the mean of all values. Up
// to 2048 steps it keeps every number. Adding allocates nothing.
func TestCurve(t *testing.T) {
	for _, steps := range []int{0, 1, 2000, mostBatches - 1, mostBatches, mostBatches + 1, mostBatches +
		2, 3*mostBatches + 1, 1_000_000} {
		c, sum := NewCurve(mostBatches), 0.0
		loss := func(step int) float64 { return 1 + 3*math.Exp(-float64(step)/1e4) + float64(step%7)/10 }
		allocs := testing.AllocsPerRun(1, func() {
			c.points, c.each, c.n, c.pending, sum = c.points[:0], 1, 0, point{}, 0
			for step := 1; step <= steps; step++ {
				c.Add(step, loss(step))
				sum += loss(step)
			}
		})
		if allocs > 0 || c.Len() > mostBatches+1 || c.Len() < min(steps, mostBatches/2) {
			t.Errorf(
				"%d steps: %d points and %v allocations, want at most %d and 0", steps, c.Len(), allocs, mostBatches+1,
			)
		}
		if cap(c.points) != mostBatches {
			t.Errorf("%d steps: room for %d points, want %d from the beginning", steps, cap(c.points), mostBatches)
		}
		total := 0.0
		for i := range c.Len() {
			x, y := c.XY(i)
			n := c.each
			if i == len(c.points) {
				n = c.n
			}
			total += y * float64(n)
			first := float64(i*c.each + 1)
			if want := first + float64(n-1)/2; math.Abs(x-want) > 1e-6 {
				t.Fatalf("%d steps: point %d is at step %v, want %v", steps, i, x, want)
			}
			if steps <= mostBatches && (x != first || y != loss(i+1)) {
				t.Fatalf("%d steps: point %d is (%v, %v), want (%v, %v)", steps, i, x, y, first, loss(i+1))
			}
		}
		if !(math.Abs(total-sum) <= 1e-9*max(1, sum)) {
			t.Errorf("%d steps: the points add up to %v, want %v", steps, total, sum)
		}
	}
}
