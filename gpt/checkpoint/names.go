package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Names in the directory. If a step is saved again, the checkpoint that it replaces is first renamed to
// step-00000500.old. This backup counts as a checkpoint until its successor exists, so there is always one. The name
// of a directory that is unfinished or partly removed contains the directory's mark after the prefix,
// .tmp-1f0c…-step-00000500, because other programs may use the same prefix.
const (
	stepPrefix   = "step-"
	backupSuffix = ".old"
	tmpPrefix    = ".tmp-"
	trashPrefix  = ".trash-"
	lockName     = ".lock"

	maxStep = 99_999_999 // eight digits
	maxName = 100        // number of bytes in a file's name
)

// stepName returns the name of a step's directory.
func stepName(step int) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// stepOf returns the step in the name of a checkpoint's directory. ok reports whether the name is one.
func stepOf(name string) (step int, ok bool) {
	name = strings.TrimSuffix(name, backupSuffix)
	step, err := strconv.Atoi(strings.TrimPrefix(name, stepPrefix))
	return step, err == nil && step >= 0 && step <= maxStep && stepName(step) == name
}

func isStep(name string) bool {
	_, ok := stepOf(name)
	return ok
}

// newestFirst returns the names that are checkpoints, newest first. A backup comes after its successor.
func newestFirst(names []string) []string {
	steps := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isStep(name) })
	slices.SortFunc(steps, func(a, b string) int {
		m, _ := stepOf(a)
		n, _ := stepOf(b)
		if m != n {
			return n - m
		}
		return len(a) - len(b)
	})
	return steps
}

// checkName accepts names that mean the same file on every system: ASCII letters, digits, and . _ -, not beginning with
// a dot.
func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return errors.Errorf("file name of %d bytes, want 1 to %d", len(name), maxName)
	}
	for i, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		case c == '.' && i > 0:
		default:
			return errors.Errorf("file name %q: %q at byte %d", name, string(rune(c)), i)
		}
	}
	if name == manifestName {
		return errors.Errorf("file name %s is reserved", name)
	}
	return nil
}
