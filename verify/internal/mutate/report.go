package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// markEquivalent sets the reasons of the listed mutants. A line is
//
//	package function operator `phrase` reason
//
// such as "nn LayerNorm.Forward drop-right `x + y` the term is 0 there"; # begins a comment. The phrase is the text of
// the changed expression or statement; "`phrase` #2" is the second one in the function with this operator. The line
// "package function * reason" is for a function that affects only speed: its mutants run, since some may hang, and
// those that survive count as equivalent. A line without a mutant is stale if its package is mutated without build
// tags, which leave out files; the error lists all stale lines. Lines of other packages are ignored.
func markEquivalent(text string, m *module, all []*mutant) error {
	byKey := map[string][]*mutant{}
	for _, mu := range all {
		wildcard := mu.Package + " " + mu.Function + " *"
		byKey[mu.key()], byKey[wildcard] = append(byKey[mu.key()], mu), append(byKey[wildcard], mu)
	}
	form := entries()
	var stale []error
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		entry := form.FindStringSubmatch(line)
		if entry == nil {
			return fmt.Errorf("equivalent mutants, line %d: want package, function, operator, `phrase` and reason: %s",
				i+1, line)
		}
		key, name, phrase, reason := entry[1], entry[2], entry[3], entry[4]
		if !slices.ContainsFunc(m.packages, func(s *source) bool { return s.name == name }) {
			continue
		}
		found := byKey[key]
		if found == nil && m.tags == "" {
			stale = append(stale, fmt.Errorf("equivalent mutants, line %d: no such mutant: %s", i+1, key))
		}
		for _, mu := range found {
			mu.reason, mu.maybe = reason, phrase == "*"
		}
	}
	return errors.Join(stale...)
}

// entries returns the form of a line: its key, the package in it, the operator with the phrase or *, and the reason.
func entries() *regexp.Regexp {
	return regexp.MustCompile("^((\\S+) \\S+ (\\*|\\S+ `[^`]+`(?: #\\d+)?)) (\\S.*)$")
}

// tally holds the number of mutants by status.
type tally map[string]int

// score returns the percentage of mistakes that tests detect.
func (t tally) score() float64 {
	if n := t[killed] + t[survived]; n > 0 {
		return 100 * float64(t[killed]) / float64(n)
	}
	return 100
}

// report prints a line for each package and for all packages, the tests that were left out, and the survivors.
func report(w io.Writer, mutants []*mutant, left []string) error {
	var names []string
	count := map[string]tally{"all": {}}
	for _, m := range mutants {
		if count[m.Package] == nil {
			names, count[m.Package] = append(names, m.Package), tally{}
		}
		count[m.Package][m.Status]++
		count["all"][m.Status]++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%-28s %8s %8s %10s %13s %8s\n", "package", killed, survived, harmless, notCompiling, "score")
	for _, name := range append(names, "all") {
		t := count[name]
		fmt.Fprintf(&out, "%-28s %8d %8d %10d %13d %7.1f%%\n",
			name, t[killed], t[survived], t[harmless], t[notCompiling], t.score())
	}
	for _, name := range left {
		fmt.Fprintf(&out, "left out because it fails without a mistake: %s\n", name)
	}
	for _, m := range mutants {
		if m.Status == survived {
			after, unreached := m.After, ""
			if after == "" {
				after = "nothing"
			}
			if !m.Reached {
				unreached = "  (no test enters it)"
			}
			fmt.Fprintf(&out, "\n%s:%d: %s → %s%s\n\t%s\n\t%s\n",
				m.File, m.Line, m.Before, after, unreached, m.Source, m.key())
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}
