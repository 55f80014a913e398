package tasks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
)

// Every task can be named, with its defaults and with each of its options.
func TestParse(t *testing.T) {
	all := tasks.All()
	for i, name := range tasks.Names() {
		k, s, err := tasks.Parse(name)
		if err != nil || k != all[i] || s != (tasks.Set{}) {
			t.Errorf("%s: got %#v, %v, %v, want %#v", name, k, s, err, all[i])
		}
		s.Train, s.Test = 3, 2
		if task, err := tasks.New(k, s); err != nil || task.Name != name {
			t.Errorf("%s: got a task named %q, %v", name, task.Name, err)
		}
	}
	k, s, err := tasks.Parse("noisy-in-context-recall:Noise=0.5, Pairs=7,Test=9")
	if want := (tasks.NoisyRecall{Noise: 0.5, Pairs: 7}); err != nil || k != want || s != (tasks.Set{Test: 9}) {
		t.Errorf("got %#v, %v, %v, want %#v", k, s, err, want)
	}
}

// What is no task is an error that names it.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"recall":                   `got "recall", want one of in-context-recall, `,
		"":                         `got "", want one of in-context-recall, `,
		"party":                    "did you mean parity?",
		"parity:Size=3":            `got the option "Size", want some of {"Length":0,"TestLength":0}, Train and Test`,
		"parity:Length":            `got "Length", want each option once`,
		"parity:Length=1,Length=2": `got "Length=2", want each option once`,
		"parity:Length=x":          "want numbers",
		"parity:Length=1.5":        "Length: got 1.5, want a whole number",
		"parity:Train=0":           `Train: got "0", want 1 to 268435456`,
		"parity:Test=1e3":          `Test: got "1e3", want 1 to 268435456`,
	} {
		if _, _, err := tasks.Parse(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "tasks: ") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if names := tasks.Names(); len(names) != len(slices.Compact(slices.Sorted(slices.Values(names)))) {
		t.Errorf("got %q, want different names", names)
	}
}
