package main

import (
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
)

// noise returns n losses that depend on nothing but chance.
func noise(random *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = random.NormFloat64()
	}
	return list
}

// figureManyArms shows how often a study of changes without an effect finds one.
func figureManyArms() (string, error) {
	const studies, seeds, most = 1000, 8, 16
	found := [2][most]int{}
	random := rand.New(rand.NewPCG(15, 0))
	for range studies {
		base, smallest := noise(random, seeds), 1.
		for arm := range most {
			c, err := paired.Compare(noise(random, seeds), base, 1)
			if err != nil {
				return "", err
			}
			if smallest = min(smallest, c.P); smallest < paired.Level {
				found[0][arm]++
			}
			// By Holm's rule a change passes if and only if the smallest p times the number of changes does.
			if smallest*float64(arm+1) < paired.Level {
				found[1][arm]++
			}
		}
	}
	return chart("changes", "studies with a verdict",
		shares("each for itself", found[0][:], studies), shares("Holm's rule", found[1][:], studies)), nil
}

// figureManyLooks shows how often a change without an effect passes one of several looks.
func figureManyLooks() (string, error) {
	const studies, step, most = 1000, 2, 8
	var levels [most][]float64 // of the plans of 1, 2, … looks
	plan := paired.Plan{Boundary: paired.Pocock}
	for i := range levels {
		var err error
		plan.Looks = append(plan.Looks, step*(i+1))
		if levels[i], err = plan.Levels(); err != nil {
			return "", err
		}
	}
	found := [2][most]int{}
	random := rand.New(rand.NewPCG(15, 1))
	for range studies {
		arm, base := noise(random, step*most), noise(random, step*most)
		var p []float64
		smallest := 1.
		for look, n := range plan.Looks {
			c, err := paired.Compare(arm[:n], base[:n], 1)
			if err != nil {
				return "", err
			}
			p = append(p, c.P)
			if smallest = min(smallest, c.P); smallest < paired.Level {
				found[0][look]++
			}
			if below(p, levels[look]) {
				found[1][look]++
			}
		}
	}
	return chart("looks", "studies with a verdict",
		shares("0.05 at each look", found[0][:], studies), shares("a plan for all looks", found[1][:], studies)), nil
}

// below reports whether any p is below its level.
func below(p, levels []float64) bool {
	for i := range p {
		if p[i] < levels[i] {
			return true
		}
	}
	return false
}

// shares returns the curve of counts as shares of a number, from 1 on.
func shares(name string, counts []int, of float64) curve {
	c := curve{name: name}
	for i, n := range counts {
		c.x, c.y = append(c.x, float64(i+1)), append(c.y, float64(n)/of)
	}
	return c
}
