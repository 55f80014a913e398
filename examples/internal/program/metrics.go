package program

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// MetricsFile is the name of the file next to a run's checkpoints that holds its measurements, one JSON object per
// line: a StepLine for each step, lines of evaluations, and a line without a step at the end of the run.
const MetricsFile = "metrics.jsonl"

// The lines of steps and of evaluations with a loss.
type (
	StepLine struct {
		Step     int     `json:"step"`
		Loss     float64 `json:"loss"`
		LR       float64 `json:"lr"`
		Norm     float64 `json:"norm"`
		Ms       float64 `json:"ms"`
		TokPerS  float64 `json:"tok_per_s"`
		GFLOPs   float64 `json:"gflops"`
		MaxIters int     `json:"max_iters,omitempty"` // the step at which the run ends
		ETA      float64 `json:"eta_s,omitempty"`     // seconds until then

		Experts []LoadLine `json:"experts,omitempty"` // of every mixture of experts
	}
	LoadLine struct {
		Layer     string    `json:"layer"`
		Load      []float64 `json:"load"`      // the share of the tokens that chose each expert
		Imbalance float64   `json:"imbalance"` // the largest share divided by the mean
	}
	EvalLine struct {
		Step        int     `json:"step"`
		Train       float64 `json:"train_loss"`
		Val         float64 `json:"val_loss"`
		BitsPerChar float64 `json:"bits_per_char"` // per token
		BitsPerByte float64 `json:"bits_per_byte"`
		Curvature   float64 `json:"curvature,omitempty"`    // largest eigenvalue of the Hessian
		ValEMA      float64 `json:"val_loss_ema,omitempty"` // of the averaged weights

		Starving []StarvingLine `json:"starving,omitempty"` // since the last evaluation
	}
	StarvingLine struct {
		Layer   string `json:"layer"`
		Experts []int  `json:"experts"` // those with less than a tenth of the mean share
	}
)

// Metrics writes every line to the file and keeps the points of a plot, in memory that does not grow with the run.
type Metrics struct {
	Loss       Curve // of the batches
	Train, Val Curve // of the evaluations

	evaluated *int // the step of the last evaluation
	file      *os.File
}

func newMetrics() *Metrics {
	return &Metrics{Loss: NewCurve(mostBatches), Train: NewCurve(mostEvaluations), Val: NewCurve(mostEvaluations)}
}

// Evaluated reports whether the last evaluation on file belongs to the given step.
func (m *Metrics) Evaluated(step int) bool { return m.evaluated != nil && *m.evaluated == step }

// OpenMetrics truncates the file in dir to the step at which the run resumes; at step 0 it is empty. It reads line by
// line, because a file may be larger than memory.
func OpenMetrics(dir string, step int) (m *Metrics, err error) {
	m, path := newMetrics(), filepath.Join(dir, MetricsFile)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	err = file.Replace(path, func(w io.Writer) error {
		kept := bufio.NewWriter(w)
		err := eachLine(dir, func(line []byte) bool {
			if step > 0 && m.keep(line, step) {
				kept.Write(line)
				kept.WriteByte('\n')
			}
			return step > 0
		})
		return cmp.Or(err, kept.Flush())
	})
	if err != nil {
		return nil, err
	}
	m.file, err = file.Append(path)
	return m, err
}

// maxLine is the length in bytes of the longest line of metrics that is read; the program writes a few hundred.
const maxLine = 1 << 20

// eachLine calls visit for each line of the file in dir until visit returns false. The line has no line feed and no
// carriage returns before it: ReadLine removes one of several, so that each opening would shorten such a line. A
// missing file has no lines; lines longer than maxLine are not metrics and are skipped.
func eachLine(dir string, visit func(line []byte) bool) error {
	f, err := file.Open(filepath.Join(dir, MetricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, maxLine)
	for complete := true; ; {
		line, more, err := r.ReadLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if complete && !more && !visit(bytes.TrimRight(line, "\r")) {
			return nil
		}
		complete = !more
	}
}

// Steps yields the lines of steps of the metrics in dir, in the order of the file.
func Steps(dir string) iter.Seq2[StepLine, error] {
	return func(yield func(StepLine, error) bool) {
		err := eachLine(dir, func(line []byte) bool {
			var s StepLine
			if bytes.Contains(line, []byte(`"val_loss"`)) || !bytes.Contains(line, []byte(`"loss"`)) ||
				json.Unmarshal(line, &s) != nil {
				return true
			}
			return yield(s, nil)
		})
		if err != nil {
			yield(StepLine{}, err)
		}
	}
}

// Finished reports whether the run in dir is finished and has not been continued since.
func Finished(dir string) (finished bool) {
	err := eachLine(dir, func(line []byte) bool {
		step, ok := stepOf(line)
		finished = ok && step == nil
		return !finished
	})
	return finished && err == nil
}

// stepOf returns the step of a line, or nil if it has none. ok is false for a line that a killed process left
// incomplete.
func stepOf(line []byte) (step *int, ok bool) {
	var l struct {
		Step *int `json:"step"`
	}
	err := json.Unmarshal(line, &l)
	return l.Step, err == nil
}

// keep adds a line to the points of the plot and returns true if its step is not after the given one.
func (m *Metrics) keep(line []byte, step int) bool {
	at, ok := stepOf(line)
	if !ok || at == nil || *at > step || step <= 0 {
		return false
	}
	var e EvalLine
	var s StepLine
	switch {
	case bytes.Contains(line, []byte(`"val_loss"`)):
		if ok = json.Unmarshal(line, &e) == nil; ok {
			m.Train.Add(e.Step, e.Train)
			m.Val.Add(e.Step, e.Val)
			m.evaluated = &e.Step
		}
	case bytes.Contains(line, []byte(`"loss"`)):
		if ok = json.Unmarshal(line, &s) == nil; ok {
			m.Loss.Add(s.Step, s.Loss)
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
