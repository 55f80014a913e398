package program

import "slices"

// mostTimes is the largest number of times that a Sample keeps.
const mostTimes = 8192

// Sample holds the times of the steps of a run, for their quantiles, in memory that does not grow with the run: all of
// them up to mostTimes, then every second, every fourth, and so on.
type Sample struct {
	kept  []float64
	least float64
	n     int // times added
	each  int // one of each times is kept; 0 means 1
}

// Add adds a time.
func (s *Sample) Add(x float64) {
	if s.n == 0 || x < s.least {
		s.least = x
	}
	s.each = max(1, s.each)
	if s.n%s.each == 0 {
		if len(s.kept) == mostTimes {
			for i := range mostTimes / 2 {
				s.kept[i] = s.kept[2*i]
			}
			s.kept, s.each = s.kept[:mostTimes/2], 2*s.each
		}
		s.kept = append(s.kept, x)
	}
	s.n++
}

// Quantile returns the time that is greater than the fraction q of the times: 0.5 is the median, the upper of the two
// middle times if their number is even. At 0 it is the least of all times, and without times 0.
func (s *Sample) Quantile(q float64) float64 {
	if s.n == 0 || q <= 0 {
		return s.least
	}
	sorted := slices.Sorted(slices.Values(s.kept))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
