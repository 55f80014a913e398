package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// Cases are equal at a random point of a small shape, and so are whole models. TestExactDraw draws a point of every
// Case, so one entry of five is drawn here.
func TestExact(t *testing.T) {
	var entries []verify.Entry
	want := 1 // the row of the models
	for i, e := range inventory.Drawn(1) {
		if i%5 == 0 {
			entries, want = append(entries, e), want+len(e.Cases)
		}
	}
	var out bytes.Buffer
	if err := exact(t.Context(), &out, io.Discard, [][]verify.Entry{entries}, 1, 4); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(out.String(), "="); rows != want || !strings.Contains(out.String(), "0 entries differ") {
		t.Errorf("got %d rows without a difference, want %d:\n%s", rows, want, out.String())
	}
}

// A difference means status 1 and is counted, a failure is returned, and an interruption ends the drawing.
func TestExactDiffers(t *testing.T) {
	e := inventory.Entries()[0]
	c := inventory.Cases()[0]
	backward := c.Backward
	c.Backward = func(p hand.Parameters[float64], delta hand.Matrix[float64]) hand.Gradients[float64] {
		g := backward(p, delta)
		for i := range g {
			g[i].Value = g[i].Value.Scale(2)
		}
		return g
	}
	e.Cases = []verify.Case{c}
	var out bytes.Buffer
	if err := exact(t.Context(), &out, io.Discard, [][]verify.Entry{{e}, {e}}, 3, 0); err != errDisagree ||
		!strings.Contains(out.String(), "576 entries differ") {
		t.Errorf("got %v:\n%s", err, out.String())
	}
	failure := errors.New("failure")
	c.Forward = func(hand.Parameters[complex128]) hand.Matrix[complex128] {
		return hand.Matrix[complex128]{Err: failure}
	}
	e.Cases = []verify.Case{c}
	if err := exact(t.Context(), &out, io.Discard, [][]verify.Entry{{e}}, 1, 0); !errors.Is(err, failure) {
		t.Errorf("got %v, want the error of the formula", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := exact(
		ctx, &out, io.Discard, [][]verify.Entry{inventory.Entries()}, 1, 1,
	); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the interruption", err)
	}
}
