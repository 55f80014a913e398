package main

import (
	"context"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
)

// decode times the decoding of single tokens until the window is full, in turns.
func (s *study) decode(ctx context.Context) error {
	type writer struct {
		*decode.Session
		row     *row
		seconds []float64
	}
	var list []*writer
	for _, t := range s.runs {
		if t.row.Error != "" || slices.ContainsFunc(list, func(w *writer) bool { return w.row == t.row }) {
			continue
		}
		d, err := gpt.NewDecoder(t.Model, 1)
		if err != nil {
			t.row.Error = err.Error()
			continue
		}
		list = append(list, &writer{Session: d, row: t.row})
	}
	tokens := make([]int, s.data.Val().Len())
	if err := s.data.Val().Read(tokens, 0); err != nil {
		return err
	}
	for range 1 + min(s.rounds, 5) {
		for _, w := range list {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := w.Reset(); err != nil {
				return err
			}
			start := time.Now()
			for i := range w.row.config.BlockSize {
				if _, err := w.Feed([]int{tokens[i]}); err != nil {
					w.row.Error = err.Error()
					break
				}
			}
			w.seconds = append(w.seconds, time.Since(start).Seconds())
		}
	}
	for _, w := range list {
		w.row.DecodeTokS = float64(w.row.config.BlockSize) / program.Median(w.seconds[1:]) // the first turn warms up
	}
	return nil
}
