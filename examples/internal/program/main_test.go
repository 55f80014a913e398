package program

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// A program that cannot be one of several ranks refuses to run as one.
func TestAlone(t *testing.T) {
	runs := 0
	run := alone(func(context.Context, []string, io.Writer, io.Writer) error { runs++; return nil })
	for n, want := range map[string]string{"": "", "1": "", "2": "OMPI_COMM_WORLD_SIZE: got 2 ranks, want 1"} {
		t.Setenv("OMPI_COMM_WORLD_SIZE", n)
		err := run(t.Context(), nil, nil, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q ranks: got error %v, want %q", n, err, want)
		}
	}
	if runs != 2 {
		t.Errorf("ran %d times, want 2", runs)
	}
}

// The name of a program is printed once, also before an error of the package of that name.
func TestComplaint(t *testing.T) {
	for message, want := range map[string]string{
		"inspect: got 0 tokens": "inspect: got 0 tokens", "got 0 tokens": "inspect: got 0 tokens",
		"inspected: no": "inspect: inspected: no",
	} {
		if got := complaint("inspect", errors.New(message)); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
