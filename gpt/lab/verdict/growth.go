package verdict

import (
	"maps"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// Growth says how the difference of the losses changes with the size.
type Growth struct {
	Budget budget `json:"budget"`
	Seeds  int    `json:"seeds"` // that all sizes have

	// Slope is the change of the difference for twice the parameters, with its 95 % interval over the seeds: of each
	// seed it is the slope of the line of least squares through the differences at all sizes.
	Slope float64 `json:"slope"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// grow computes the growth within each budget that holds at every size.
func (j *judge) grow() {
	for _, b := range budgets() {
		var sizes []float64 // log₂ of the parameters
		var list []Loss
		for _, l := range j.Losses {
			if b.holds(l.Budget) && l.Compared != nil {
				list, sizes = append(list, l), append(sizes, math.Log2(float64(l.Parameters[0])))
			}
		}
		exact := slices.ContainsFunc(list, func(l Loss) bool { return l.Budget == b })
		if len(list) < len(j.Report.Plan.Sizes) || !exact {
			continue
		}
		var slopes []float64
		for _, seed := range slices.Sorted(maps.Keys(list[0].differences)) {
			var differences []float64
			for _, l := range list {
				if d, ok := l.differences[seed]; ok {
					differences = append(differences, d)
				}
			}
			if len(differences) == len(sizes) {
				slopes = append(slopes, slope(sizes, differences))
			}
		}
		if len(slopes) < 2 {
			continue
		}
		c, err := paired.Compare(slopes, make([]float64, len(slopes)), j.Base.Seed)
		if err == nil {
			j.Growth = append(j.Growth, Growth{b, len(slopes), c.Mean, c.Low, c.High})
		}
	}
}

// slope returns the slope of the line of least squares.
func slope(x, y []float64) float64 {
	var mx, my, xy, xx float64
	for i := range x {
		mx, my = mx+x[i]/float64(len(x)), my+y[i]/float64(len(y))
	}
	for i := range x {
		xy, xx = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx)
	}
	return xy / xx
}
