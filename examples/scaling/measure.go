package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pkg/errors"
)

// measureSums prints the times of sums of some sizes between two ranks, the least of many.
func measureSums(stdout io.Writer) error {
	g, err := dist.Open(dist.Options{Timeout: time.Minute})
	if err != nil {
		return err
	}
	if g.Size() != 2 {
		return errors.Errorf("-measure: got %d ranks, want 2: mpirun -np 2", g.Size())
	}
	var list []string
	for _, n := range []int{1 << 12, 1 << 16, 1 << 20, 1 << 24} {
		x := make([]float32, n)
		least := time.Duration(0)
		for range max(5, 1<<25/(n+1<<16)) {
			if err := g.Barrier(); err != nil {
				return err
			}
			start := time.Now()
			if err := g.Sum(x); err != nil {
				return err
			}
			if took := time.Since(start); least == 0 || took < least {
				least = took
			}
		}
		list = append(list, fmt.Sprintf("%.4g:%.4g", 4e-6*float64(n), 1e3*least.Seconds()))
	}
	if g.Rank() == 0 {
		fmt.Fprintln(stdout, "-measured", strings.Join(list, ","))
	}
	return g.Close()
}
