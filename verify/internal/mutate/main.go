// Command mutate measures what the tests of a package see: it makes small mistakes in the package's source, one at a
// time, and counts the mistakes that some test notices.
//
//	go run ./verify/internal/mutate -packages nn,graph -tests verify -n 200 -seed 1
//
// A mutant is a package with one change of its syntax tree: a term dropped, operands swapped, a comparison flipped
// (DeMillo, Lipton and Sayward, "Hints on Test Data Selection", 1978; operators.go lists the changes). The mutants
// drawn are woven into the test programs and chosen by an environment variable when these run (mutant schemata: Untch,
// Offutt and Harrold, "Mutation Analysis Using Mutant Schemata", 1993): beside a function stand its mutated copies, and
// it begins by asking which of them to call, so that one build serves thousands of mutants.
//
// The tests run once without a mistake, each in a process of its own that records the blocks it enters; a mutant then
// meets only the tests that enter its block, those of its own package first, the fastest first. A test that fails, a
// panic, or a run beyond its limits kills it. Mutants that no input tells from the original stand in equivalent.txt,
// each with its position in the tree and the reason; an entry without a mutant is an error. The tests run in a copy of
// the module, for a mutant may write or remove files where it should not. Limits of time and memory need a Unix shell.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

//go:embed equivalent.txt
var equivalent string

// options are the flags.
type options struct {
	packages   []string      // paths in the module, as verify/hand
	tests      []string      // packages whose tests run as well: "verify" for all mutants, "nn=verify" for those of nn
	tags       string        // build tags
	n          int           // mutants to draw; 0 is all of them
	seed       uint64        // of the draw
	timeout    time.Duration // processor time that a mutant has beyond a multiple of the clean run's
	equivalent string        // the list of mutants that are no mistakes
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
	tests := flags.String("tests", "", "packages whose tests run too: verify, or nn=verify for mutants of nn alone")
	tags := flags.String("tags", "", "build tags, as nosimd for the kernels in Go")
	n := flags.Int("n", 100, "mutants to draw from all packages together")
	all := flags.Bool("all", false, "every mutant, whatever -n says")
	seed := flags.Uint64("seed", 1, "of the draw")
	timeout := flags.Duration("timeout", 4*time.Second, "processor time a mutant has beyond eight times the clean run's")
	asJSON := flags.Bool("json", false, "print every mutant as JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *packages == "" || flags.NArg() > 0 || *n < 1 {
		return errors.New("-packages and a positive -n are needed, and no arguments")
	}
	if *all {
		*n = 0
	}
	mutants, left, err := mutate(options{list(*packages), list(*tests), *tags, *n, *seed, *timeout, equivalent}, stderr)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(stdout).Encode(mutants)
	}
	return report(stdout, mutants, left)
}

// list splits at commas; the list of nothing is empty.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

// mutate draws mutants, builds them and runs the tests on each, but for those left out.
func mutate(o options, progress io.Writer) (mutants []*mutant, left []string, err error) {
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
	if err := bench.clean(progress); err != nil {
		return nil, nil, err
	}
	return mutants, bench.left, bench.judge(mutants, o.timeout, progress)
}
