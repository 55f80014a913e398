package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// judge runs the tests on the mutants and sets their status.
func (b *bench) judge(mutants []*mutant, timeout time.Duration, progress io.Writer) error {
	var open []*mutant
	for _, m := range mutants {
		if m.Status == "" && m.reason != "" && !m.maybe {
			m.Status = harmless
		} else if m.Status == "" {
			open = append(open, m)
		}
	}
	errs := make([]error, len(open))
	var alive atomic.Int64
	parallel(progress, "mutants", len(open), func(i int) {
		m := open[i]
		var dead bool
		if dead, errs[i] = b.kills(m, timeout); dead {
			m.Status = killed
		} else if m.maybe {
			m.Status = harmless
		} else {
			m.Status = survived
			alive.Add(1)
			// Printed at once, in case the run is stopped.
			fmt.Fprintf(progress, "\rsurvived: %s:%d %s\n", m.File, m.Line, m.key())
		}
	}, func() string { return fmt.Sprintf(", %d survived", alive.Load()) })
	return errors.Join(errs...)
}

// kills reports whether a test that enters the block of the mutant fails. It runs a few fast tests together first, then
// more.
func (b *bench) kills(m *mutant, timeout time.Duration) (bool, error) {
	var own, more []*suite
	for _, s := range b.suites {
		switch {
		case s.path == m.source.path:
			own = append(own, s)
		case s.judges[""] || s.judges[m.Package]:
			more = append(more, s)
		}
	}
	for _, s := range append(own, more...) {
		tests := slices.DeleteFunc(slices.Clone(s.tests), func(t *test) bool { return t.hits[m.hit] == 0 })
		m.Reached = m.Reached || len(tests) > 0
		for budget := 300 * time.Millisecond; len(tests) > 0; budget *= 4 {
			n, took := 0, time.Duration(0)
			for n < len(tests) && (n == 0 || took+tests[n].took <= budget) {
				took += tests[n].took
				n++
			}
			if passed, err := b.run(s, tests[:n], m.id, timeout+8*took); err != nil || !passed {
				return err == nil, err
			}
			tests = tests[n:]
		}
	}
	return false, nil
}

// draw returns n random mutants in the order of the source. The same seed gives the same mutants.
func draw(all []*mutant, n int, seed uint64) []*mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	chosen := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(chosen)
	out := make([]*mutant, n)
	for i, j := range chosen {
		out[i] = all[j]
	}
	return out
}
