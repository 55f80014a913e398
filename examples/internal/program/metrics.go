package program

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/pkg/errors"
)

// MetricsFile is the name of the file beside a run's checkpoints that holds what the run has measured, one JSON object
// a line: a StepLine for each step, those of evaluations, and one without a step when the run has come to its end.
const MetricsFile = "metrics.jsonl"

// The lines of steps, and of evaluations by a loss.
type (
	StepLine struct {
		Step    int     `json:"step"`
		Loss    float64 `json:"loss"`
		LR      float64 `json:"lr"`
		Norm    float64 `json:"norm"`
		Ms      float64 `json:"ms"`
		TokPerS float64 `json:"tok_per_s"`
		GFLOPs  float64 `json:"gflops"`
	}
	EvalLine struct {
		Step        int     `json:"step"`
		Train       float64 `json:"train_loss"`
		Val         float64 `json:"val_loss"`
		BitsPerChar float64 `json:"bits_per_char"`
	}
)

// Metrics is the file, and what it holds for a plot.
type Metrics struct {
	Steps []StepLine
	Evals []EvalLine

	file *os.File
}

// OpenMetrics cuts the file in dir back to the step at which the run resumes; at step 0 it is empty.
func OpenMetrics(dir string, step int) (*Metrics, error) {
	m, path := &Metrics{}, filepath.Join(dir, MetricsFile)
	old, err := readMetrics(dir)
	if err != nil {
		return nil, err
	}
	var kept bytes.Buffer
	for line := range bytes.Lines(old) { // of any length
		if line = bytes.TrimRight(line, "\r\n"); step > 0 && m.keep(line, step) {
			kept.Write(line)
			kept.WriteByte('\n')
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := WriteWhole(path, func(w io.Writer) error { _, err := kept.WriteTo(w); return err }); err != nil {
		return nil, err
	}
	m.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	return m, err
}

func readMetrics(dir string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(dir, MetricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Finished is whether the run in dir has come to its end, and has not gone on since.
func Finished(dir string) bool {
	data, err := readMetrics(dir)
	for line := range bytes.Lines(data) {
		if step, ok := stepOf(line); ok && step == nil {
			return err == nil
		}
	}
	return false
}

// stepOf is the step of a line, nil of one that has none. A line that a killed process left half written is not ok.
func stepOf(line []byte) (step *int, ok bool) {
	var l struct {
		Step *int `json:"step"`
	}
	err := json.Unmarshal(line, &l)
	return l.Step, err == nil
}

// keep adds a line to those for the plot and returns true if its step is not after the given one.
func (m *Metrics) keep(line []byte, step int) bool {
	at, ok := stepOf(line)
	if !ok || at == nil || *at > step {
		return false
	}
	var e EvalLine
	var s StepLine
	switch {
	case bytes.Contains(line, []byte(`"val_loss"`)):
		if ok = json.Unmarshal(line, &e) == nil; ok {
			m.Evals = append(m.Evals, e)
		}
	case bytes.Contains(line, []byte(`"loss"`)):
		if ok = json.Unmarshal(line, &s) == nil; ok {
			m.Steps = append(m.Steps, s)
		}
	}
	return ok
}

// Add writes a line.
func (m *Metrics) Add(line any) error {
	data, err := json.Marshal(line)
	if err != nil {
		return errors.Wrap(err, "metrics")
	}
	m.keep(data, math.MaxInt)
	_, err = m.file.Write(append(data, '\n'))
	return errors.Wrap(err, "metrics")
}

// Close closes the file.
func (m *Metrics) Close() error { return m.file.Close() }
