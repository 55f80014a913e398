// Command mutate measures how many mistakes the tests of a package detect. It makes small mistakes in the package's
// source, one at a time, and counts those that a test notices.
//
//	go run ./verify/internal/mutate -packages nn,graph -tests verify -n 200 -seed 1
//
// A mutant is a package with one change of its syntax tree: a term dropped, operands swapped, a comparison flipped
// (DeMillo, Lipton and Sayward, "Hints on Test Data Selection", 1978; operators.go lists the changes). The drawn
// mutants are woven into the test programs, and an environment variable selects one of them at run time (mutant
// schemata: Untch, Offutt and Harrold, "Mutation Analysis Using Mutant Schemata", 1993). Each function is followed by
// its mutated copies and begins by selecting the one to call, so that one build serves thousands of mutants.
//
// The tests first run once without a mistake, each in its own process, which records the blocks that it enters. A
// mutant then runs only the tests that enter its block, its own package's first, the fastest first. It is killed by a
// test that fails, by a panic, or by a run that exceeds its limits. Mutants that behave like the original for every
// input are listed in equivalent.txt, each with its function, its expression and the reason; an entry without a mutant
// is an error. The tests run in a copy of the module, because a mutant may write or remove files anywhere. Limits of
// time and memory need a Unix shell.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
)

//go:embed equivalent.txt
var equivalent string

// options are the flags.
type options struct {
	packages   []string      // paths in the module, such as verify/hand
	tests      []string      // further packages with tests: "verify" for all mutants, "nn=verify" for mutants of nn
	run        string        // pattern of the names of tests, as of go test -run; "" means all
	tags       string        // build tags
	n          int           // number of mutants to draw; 0 means all
	seed       uint64        // of the draw
	timeout    time.Duration // processor time of a mutant beyond a multiple of the clean run's
	equivalent string        // list of the mutants that are not mistakes
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	packages := flags.String("packages", "", "packages to mutate, separated by commas")
	tests := flags.String("tests", "", "further packages with tests: verify, or nn=verify for mutants of nn alone")
	only := flags.String("run", "", "pattern of the names of the tests that count, such as Exact; default all")
	tags := flags.String("tags", "", "build tags, such as nosimd for the kernels in Go")
	n := flags.Int("n", 100, "number of mutants to draw from all packages together")
	all := flags.Bool("all", false, "take every mutant and ignore -n")
	seed := flags.Uint64("seed", 1, "seed of the draw")
	timeout := flags.Duration("timeout", 4*time.Second,
		"processor time of a mutant beyond eight times the clean run's")
	asJSON := flags.Bool("json", false, "print every mutant as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *packages == "" || flags.NArg() > 0 || *n < 1 {
		return errors.New("want -packages, a positive -n and no arguments")
	}
	if *all {
		*n = 0
	}
	mutants, left, err := mutate(options{
		list(*packages), list(*tests), *only, *tags, *n, *seed, *timeout, equivalent,
	}, stderr)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(stdout).Encode(mutants)
	}
	return report(stdout, mutants, left)
}

// list returns the fields of s, separated by commas; for "" it returns none.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// mutate draws mutants, builds them and runs the tests on each, except for the tests that it returns in left.
func mutate(o options, progress io.Writer) (mutants []*mutant, left []string, err error) {
	only, err := regexp.Compile(o.run)
	if err != nil {
		return nil, nil, fmt.Errorf("-run: %w", err)
	}
	progress = &serial{w: progress}
	module, err := load(o.packages, o.tests, o.tags)
	if err != nil {
		return nil, nil, err
	}
	mutants = module.mutants()
	if err := markEquivalent(o.equivalent, module, mutants); err != nil {
		return nil, nil, err
	}
	mutants = draw(mutants, o.n, o.seed)
	bench, err := build(module, mutants, progress)
	if err != nil {
		return nil, nil, err
	}
	defer bench.close()
	if err := bench.clean(only, progress); err != nil {
		return nil, nil, err
	}
	return mutants, bench.left, bench.judge(mutants, o.timeout, progress)
}
