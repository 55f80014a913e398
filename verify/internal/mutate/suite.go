package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// suite is the tests of a package.
type suite struct {
	listed
	program string
	home    string // directory to run in
	tests   []*test
}

type test struct {
	name string
	took time.Duration
	hits []byte // 1 for each block that the test enters
}

// clean runs every test once without a mistake and notes what it enters. One that fails is left out and named.
func (b *bench) clean(progress io.Writer) error {
	type job struct {
		*suite
		*test
	}
	var jobs []job
	for _, s := range b.suites {
		names, err := command(s.home, s.program, "-test.list", "^(Test|Example|Fuzz)")
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(names) {
			jobs = append(jobs, job{s, &test{name: name}})
		}
	}
	line := newMeter(progress, "tests without a mistake", len(jobs))
	errs := make([]error, len(jobs))
	parallel(len(jobs), func(i int) {
		j := jobs[i]
		hits := filepath.Join(b.dir, fmt.Sprint("hits", i))
		if errs[i] = os.WriteFile(hits, make([]byte, b.blocks), 0o644); errs[i] != nil {
			return
		}
		start := time.Now()
		passed, err := b.run(j.suite, []*test{j.test}, 0, 10*time.Minute, "MUTANT_HITS="+hits)
		j.took = time.Since(start)
		if errs[i] = err; err == nil && passed {
			j.hits, errs[i] = os.ReadFile(hits)
		}
		line.step("")
	})
	line.end()
	for _, j := range jobs {
		if j.hits != nil {
			j.suite.tests = append(j.suite.tests, j.test)
		} else {
			fmt.Fprintf(progress, "%s %s fails without a mistake and is left out\n", j.ImportPath, j.name)
		}
	}
	for _, s := range b.suites {
		slices.SortStableFunc(s.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
		for _, t := range slices.Backward(s.tests) {
			t.took -= s.tests[0].took // about what the program needs to start
		}
	}
	return errors.Join(errs...)
}

// run says whether the tests pass with a mutant. A run has as much processor time as is said, three times as much by
// the clock, and 4 GiB of memory.
func (b *bench) run(s *suite, tests []*test, mutant int, limit time.Duration, env ...string) (bool, error) {
	tmp, err := os.MkdirTemp(b.dir, "run")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	var names []string
	for _, t := range tests {
		names = append(names, regexp.QuoteMeta(t.name))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*limit+20*time.Second)
	defer cancel()
	limits := fmt.Sprintf(`ulimit -c 0 && ulimit -t %d && ulimit -d 4194304 || exit 126; exec "$@"`, int(limit.Seconds()+1))
	pattern := "^(" + strings.Join(names, "|") + ")$"
	cmd := exec.CommandContext(ctx, "sh", "-c", limits, "sh", s.program, "-test.short", "-test.failfast", "-test.run", pattern)
	cmd.Dir = s.home
	cmd.Env = append(append(os.Environ(), env...), fmt.Sprint("MUTANT=", mutant), fmt.Sprint("MUTANT_BLOCKS=", b.blocks), "TMPDIR="+tmp)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil || errors.As(err, &exit) && exit.ExitCode() != 126 && exit.ExitCode() != 127:
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", s.program, err)
}

// judge runs the tests on the mutants and sets their status.
func (b *bench) judge(mutants []*mutant, timeout time.Duration, progress io.Writer) error {
	var open []*mutant
	for _, m := range mutants {
		if m.Status == "" && m.reason != "" {
			m.Status = harmless
		} else if m.Status == "" {
			open = append(open, m)
		}
	}
	line := newMeter(progress, "mutants", len(open))
	errs := make([]error, len(open))
	var alive atomic.Int64
	parallel(len(open), func(i int) {
		m := open[i]
		var dead bool
		if dead, errs[i] = b.kills(m, timeout); dead {
			m.Status = killed
		} else {
			m.Status = survived
			alive.Add(1)
		}
		line.step(fmt.Sprintf(", %d survived", alive.Load()))
	})
	line.end()
	return errors.Join(errs...)
}

// kills says whether some test that enters the block of the mutant fails: a few quick ones together, then more.
func (b *bench) kills(m *mutant, timeout time.Duration) (bool, error) {
	var own, more []*suite
	for _, s := range b.suites {
		switch {
		case s.ImportPath == m.source.path:
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

// parallel calls f of 0 … n−1 on as many threads as there are processors.
func parallel(n int, f func(int)) {
	var wait sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wait.Wait()
}
