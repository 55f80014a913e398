package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

// The three kinds of line in metrics.jsonl.
type (
	stepLine struct {
		Step    int     `json:"step"`
		Loss    float64 `json:"loss"`
		LR      float64 `json:"lr"`
		Norm    float64 `json:"norm"`
		Ms      float64 `json:"ms"`
		TokPerS float64 `json:"tok_per_s"`
		GFLOPs  float64 `json:"gflops"`
	}
	evalLine struct {
		Step        int     `json:"step"`
		Train       float64 `json:"train_loss"`
		Val         float64 `json:"val_loss"`
		BitsPerChar float64 `json:"bits_per_char"`
	}
	fullLine struct {
		Val float64 `json:"val_loss_full"`
	}
)

// metrics is the file, one object a line, and what it holds for the plot.
type metrics struct {
	file  *os.File
	steps []stepLine
	evals []evalLine
}

// openMetrics cuts the file back to the step at which the run resumes; at step 0 it is empty.
func openMetrics(path string, step int) (*metrics, error) {
	m := &metrics{}
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(old) { // of any length
		if line = bytes.TrimRight(line, "\r\n"); step > 0 && m.keep(line, step) {
			kept.Write(line)
			kept.WriteByte('\n')
		}
	}
	if err := program.WriteWhole(path, func(w io.Writer) error { _, err := kept.WriteTo(w); return err }); err != nil {
		return nil, err
	}
	m.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	return m, err
}

// keep adds a line to those for the plot and returns true if its step is not after the given one. A line that a killed
// process left half written is dropped.
func (m *metrics) keep(line []byte, step int) bool {
	var e evalLine
	var s stepLine
	if json.Unmarshal(line, &e) != nil || json.Unmarshal(line, &s) != nil || e.Step > step ||
		bytes.Contains(line, []byte("val_loss_full")) {
		return false
	}
	if bytes.Contains(line, []byte("val_loss")) {
		m.evals = append(m.evals, e)
	} else {
		m.steps = append(m.steps, s)
	}
	return true
}

func (m *metrics) add(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return errors.Wrap(err, "metrics")
	}
	m.keep(data, math.MaxInt)
	_, err = m.file.Write(append(data, '\n'))
	return errors.Wrap(err, "metrics")
}
