package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// curvatures returns the eigenvalues of a run's evaluations.
func curvatures(t *testing.T, dir string) (list []float64) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, program.MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var e program.EvalLine
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"val_loss":`) {
			list = append(list, e.Curvature)
		}
	}
	return list
}

// A run that measures its curvature ends with the same bits as another, on any number of threads. If it is interrupted
// while it measures, and is resumed, it measures what an undisturbed run measures.
func TestCurvature(t *testing.T) {
	plain, measured, halves := t.TempDir(), t.TempDir(), t.TempDir()
	mustDo(t, small(t, plain)...)
	out := mustDo(t, small(t, measured, "-curvature", "-threads", "1")...)
	if n := strings.Count(out, ", curvature ") + strings.Count(out, "\n  curvature "); n != 4 {
		t.Errorf("got %d evaluations with a curvature, want 4:\n%s", n, out)
	}
	want := curvatures(t, measured)
	if len(want) != 4 || slices.Contains(want, 0) ||
		slices.ContainsFunc(curvatures(t, plain), func(x float64) bool { return x != 0 }) {
		t.Errorf("got the curvatures %v, and %v without the flag", want, curvatures(t, plain))
	}
	a, err := checkpoint.Load(measured)
	if err != nil {
		t.Fatal(err)
	}
	b, err := checkpoint.Load(plain)
	if err != nil {
		t.Fatal(err)
	}
	weights := 0
	for _, name := range a.Names() {
		if !strings.HasSuffix(name, ".safetensors") {
			continue
		}
		x, errA := a.File(name)
		y, errB := b.File(name)
		if weights++; errA != nil || errB != nil || !slices.Equal(x, y) {
			t.Errorf("%s differs from that of a run without -curvature: %v, %v", name, errA, errB)
		}
	}
	if weights != 2 {
		t.Errorf("compared %d files, want the weights and the moments", weights)
	}
	args := small(t, halves, "-curvature", "-threads", "2")
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &interrupter{cancel: cancel, left: 7}
	run(ctx, args, w, w)
	mustDo(t, append(args, "-resume")...)
	if got := curvatures(t, halves); !slices.Equal(got, want) {
		t.Errorf("resumed: got %v, want %v", got, want)
	}
}

// The end of the context ends a measurement and is returned. Another failure is reported, and the run continues.
func TestCurvatureFails(t *testing.T) {
	c, data := gpt.Shakespeare(), text.Tokens{1, 2, 0, 3, 1, 1, 2, 3, 0, 2, 1, 0, 3}
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize = 1, 1, 4, 3, 2
	tok, err := text.NewCharacters("abcd")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := gpt.NewTrainer(c, split{data}, tok)
	if err != nil {
		t.Fatal(err)
	}
	h, err := newCurvature(options{curvature: true}, tr)
	if err != nil {
		t.Fatal(err)
	}
	r := &report{Log: &program.Log{Bar: program.NewBar(io.Discard, "", 0, 1)}, trainer: tr, curvature: h}
	if x, err := r.largest(t.Context()); err != nil || x <= 0 {
		t.Errorf("got %v, %v", x, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.largest(ctx); !errors.Is(err, context.Canceled) || r.Trouble != nil {
		t.Errorf("got %v, %v", err, r.Trouble)
	}
	tr.Model.Params()[0].Tensor().Set(0, math.NaN())
	if x, err := r.largest(t.Context()); x != 0 || err != nil || r.Trouble == nil ||
		!strings.HasPrefix(r.Trouble.Error(), "-curvature: ") {
		t.Errorf("got %v, %v, %v", x, err, r.Trouble)
	}
}

// split is a corpus of one text.
type split struct{ text.Tokens }

func (s split) Train() text.Split { return s.Tokens }
func (s split) Val() text.Split   { return s.Tokens }
func (s split) SHA256() string    { return "" }
