package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// The names in the directory. A step that is saved again renames the checkpoint it replaces first, as
// step-00000500.old: it counts as a checkpoint until its successor stands, so that at no moment there is none. What is
// unfinished or half removed has the directory's mark behind the prefix, .tmp-1f0c…-step-00000500: of the same prefix
// there may be directories of somebody else.
const (
	stepPrefix   = "step-"
	backupSuffix = ".old"
	tmpPrefix    = ".tmp-"
	trashPrefix  = ".trash-"
	lockName     = ".lock"

	maxStep = 99_999_999 // eight digits
	maxName = 100        // bytes of a file's name
)

// stepName returns the directory of a step.
func stepName(step int) string { return fmt.Sprintf("%s%08d", stepPrefix, step) }

// stepOf returns the step in the name of a checkpoint's directory, and whether the name is one.
func stepOf(name string) (step int, ok bool) {
	name = strings.TrimSuffix(name, backupSuffix)
	step, err := strconv.Atoi(strings.TrimPrefix(name, stepPrefix))
	return step, err == nil && step >= 0 && step <= maxStep && stepName(step) == name
}

func isStep(name string) bool {
	_, ok := stepOf(name)
	return ok
}

// newestFirst returns those of the names that are checkpoints. A backup comes after its successor.
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

// checkName accepts the names that mean the same file on every system: ASCII letters, digits, and . _ -, not beginning
// with a dot.
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
