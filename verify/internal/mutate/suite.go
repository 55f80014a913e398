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
	"slices"
	"strings"
	"time"
)

// suite holds the tests of a package.
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

// clean runs every test whose name matches the pattern once without a mistake and records the blocks that it enters. It
// prints and omits tests that fail.
func (b *bench) clean(only *regexp.Regexp, progress io.Writer) error {
	type job struct {
		*suite
		*test
	}
	var jobs []job
	for _, s := range b.suites {
		names, err := command(s.home, "env", fmt.Sprint("MUTANT_BLOCKS=", b.blocks),
			s.program, "-test.list", "^(Test|Example|Fuzz)")
		if err != nil {
			return err
		}
		for _, name := range strings.Fields(names) {
			if only.MatchString(name) {
				jobs = append(jobs, job{s, &test{name: name}})
			}
		}
	}
	errs := make([]error, len(jobs))
	parallel(progress, "tests without a mistake", len(jobs), func(i int) {
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
	}, func() string { return "" })
	for _, j := range jobs {
		if j.hits != nil {
			j.suite.tests = append(j.suite.tests, j.test)
		} else {
			fmt.Fprintf(progress, "%s %s fails without a mistake and is left out\n", j.path, j.name)
			b.left = append(b.left, j.path+" "+j.name)
		}
	}
	for _, s := range b.suites {
		slices.SortStableFunc(s.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
		for _, t := range slices.Backward(s.tests) {
			t.took -= s.tests[0].took // approximately the time to start the program
		}
	}
	return errors.Join(errs...)
}

// run reports whether the tests pass with a mutant within the limits: limit of processor time, 20 s plus three times
// limit of elapsed time, and 4 GiB of memory.
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
	limits := fmt.Sprintf("ulimit -c 0 && ulimit -t %d && ulimit -d 4194304 || exit 126", int(limit.Seconds()+1))
	cmd := exec.CommandContext(ctx, "sh", "-c", limits+`; exec "$@"`, "sh", s.program,
		"-test.short", "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Dir = s.home
	cmd.Env = append(append(os.Environ(), env...), "TMPDIR="+tmp,
		fmt.Sprint("MUTANT=", mutant), fmt.Sprint("MUTANT_BLOCKS=", b.blocks))
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
