package live

import (
	"encoding/json"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// Limits of the lines that are kept of a run.
const (
	mostLines = 1024     // of steps, and of evaluations; a page draws about 800 points
	mostBytes = 32 << 20 // of looks
	longest   = 16 << 20 // bytes of a line
)

// history holds the lines of a run's files, thinned if they are many.
type history struct {
	metrics, looks             tail
	steps, evals, end, written series

	thinned bool // lines that were added before are gone
	lines   int  // the number of lines read
}

func newHistory(dir string) *history {
	h := &history{}
	h.metrics = tail{path: filepath.Join(dir, program.MetricsFile), longest: longest}
	h.looks = tail{path: filepath.Join(dir, LooksFile), longest: longest}
	for _, s := range h.all() {
		s.most, s.bytes = mostLines, mostBytes
	}
	return h
}

func (h *history) all() []*series { return []*series{&h.steps, &h.evals, &h.end, &h.written} }

// more reads the lines written since the last call. It calls again with the name of a file that begins again, and line
// with each line and its series.
func (h *history) more(again func(file string), line func(*series, sized)) error {
	add := func(text json.RawMessage) {
		h.lines++
		s, l := h.kind(text)
		if s == nil {
			return
		}
		if s.add(l.text, l.value); s.burst() {
			s.thin()
			h.thinned = true
		}
		line(s, l)
	}
	if err := h.metrics.more(func() {
		h.steps.clear()
		h.evals.clear()
		h.end.clear()
		again(program.MetricsFile)
	}, add); err != nil {
		return err
	}
	return h.looks.more(func() {
		h.written.clear()
		again(LooksFile)
	}, add)
}

// kind returns the series of a line, or nil if no page shows it, and the number by which the series is thinned.
func (h *history) kind(text json.RawMessage) (*series, sized) {
	var l struct {
		Step   float64         `json:"step"`
		Loss   *float64        `json:"loss"`
		Val    *float64        `json:"val_loss"`
		Full   *float64        `json:"val_loss_full"`
		Sample json.RawMessage `json:"sample"`
	}
	if json.Unmarshal(text, &l) != nil {
		return nil, sized{}
	}
	switch {
	case l.Sample != nil:
		return &h.written, sized{text, l.Step}
	case l.Val != nil:
		return &h.evals, sized{text, *l.Val}
	case l.Loss != nil:
		return &h.steps, sized{text, *l.Loss}
	case l.Full != nil:
		return &h.end, sized{text, *l.Full}
	}
	return nil, sized{}
}

// thin thins the series that are full, and reports whether there were any.
func (h *history) thin() (some bool) {
	for _, s := range h.all() {
		for s.full() {
			s.thin()
			some = true
		}
	}
	return some
}

// kept returns all remaining lines.
func (h *history) kept() (list []json.RawMessage) {
	for _, s := range h.all() {
		for _, l := range s.lines {
			list = append(list, l.text)
		}
	}
	return list
}
