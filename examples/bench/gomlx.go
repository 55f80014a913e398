package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// besideGoMLX prints a table of this program and GoMLX's back end in Go in turn, on the same networks. The losses of
// the first batch must be the same.
func (c comparison) besideGoMLX(w io.Writer) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peer := filepath.Join(dir, "gomlx.exe")
	build := exec.Command("go", "build", "-o", peer, ".")
	build.Dir = c.gomlx
	if out, err := build.CombinedOutput(); err != nil {
		return errors.Wrapf(err, "-gomlx: go build in %s: %s", c.gomlx, out)
	}
	version := exec.Command("go", "list", "-m", "github.com/gomlx/gomlx")
	version.Dir = c.gomlx
	out, err := version.Output()
	if err != nil {
		return errors.Wrap(err, "-gomlx: go list")
	}
	fmt.Fprintf(w, "%s, its back end SimpleGo\n\n", bytes.TrimSpace(out))
	fmt.Fprintln(w, "| shape, threads | ms/step | GoMLX | times faster | ms/loss | GoMLX | times faster "+
		"| first loss | GoMLX |\n|---|---|---|---|---|---|---|---|---|")
	// A step of baby would need tens of gigabytes: GoMLX writes the gradient of a product as the sum of a tensor of all
	// its factors, which other back ends fuse.
	for _, r := range []row{{"char", 2, 1}, {"baby", 2, 0}} {
		if c.quick {
			c.rounds, r.steps = 1, 0
		}
		if err := c.gomlxRow(w, r, peer); err != nil {
			return errors.Wrapf(err, "-gomlx: %s", r.shape)
		}
	}
	return nil
}

// gomlxRow prints a row.
func (c comparison) gomlxRow(w io.Writer, r row, peer string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	config := shapes()[r.shape]
	config.Threads = r.threads
	var ours, theirs []measurement
	for range c.rounds {
		threads := strconv.Itoa(r.threads)
		line, err := measured(exec.Command(self, "-shape", r.shape, "-threads", threads, "-steps", "10"))
		if err != nil {
			return err
		}
		var weights bytes.Buffer
		if line["loss_first"], line["loss_ms_median"], err = firstLoss(config, &weights); err != nil {
			return err
		}
		ours = append(ours, line)
		asked, err := json.Marshal(map[string]any{
			"Layers": config.NLayer, "Heads": config.NHead, "Width": config.NEmbd, "Context": config.BlockSize,
			"Batch": config.BatchSize, "Vocab": config.VocabSize, "Weights": weights.Bytes(), "Threads": r.threads,
			"Steps": r.steps,
		})
		if err != nil {
			return err
		}
		cmd := exec.Command(peer)
		cmd.Stdin = bytes.NewReader(asked)
		if line, err = measured(cmd); err != nil {
			return err
		}
		theirs = append(theirs, line)
	}
	text, err := r.besideGoMLX(ours, theirs)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, text)
	return err
}

// besideGoMLX returns the line of the table: medians of the rounds, and of their ratios. Losses that differ are an
// error.
func (r row) besideGoMLX(ours, theirs []measurement) (string, error) {
	first, got := ours[0].number("loss_first"), theirs[0].number("loss_first")
	if !(math.Abs(got-first) <= 1e-4) {
		return "", errors.Errorf("the first batch: got loss %v of GoMLX, want %v", got, first)
	}
	s := fmt.Sprintf("| %s, %d |", r.shape, r.threads)
	for _, field := range []string{"ms_median", "loss_ms_median"} {
		var ratios []float64
		for i := range ours {
			ratios = append(ratios, theirs[i].number(field)/ours[i].number(field))
		}
		if r.steps == 0 && field == "ms_median" {
			s += fmt.Sprintf(" %.1f | | |", median(ours, field))
			continue
		}
		s += fmt.Sprintf(" %.1f | %.1f | %.1f |", median(ours, field), median(theirs, field), program.Median(ratios))
	}
	return s + fmt.Sprintf(" %.5f | %.5f |", first, got), nil
}

// firstLoss writes the weights of a network to w and returns its loss on the batch with which the peer begins, and the
// time of computing it.
func firstLoss(c gpt.Config, w io.Writer) (loss, ms float64, err error) {
	g := graph.New(graph.Float32, 1)
	c.Configure(g)
	m, err := gpt.New(g, c, c.BatchSize)
	if err != nil {
		return 0, 0, err
	}
	if err := m.WriteWeights(w); err != nil {
		return 0, 0, err
	}
	ids, targets := m.Tokens.Ints(), m.Targets.Ints()
	for i := range ids {
		at := i/c.BlockSize*(c.BlockSize+1) + i%c.BlockSize
		ids[i], targets[i] = at*7919%c.VocabSize, (at+1)*7919%c.VocabSize
	}
	p, err := graph.Compile(m.Loss)
	if err != nil {
		return 0, 0, err
	}
	var times []float64
	for range 10 {
		start := time.Now()
		if err := p.Run(); err != nil {
			return 0, 0, err
		}
		times = append(times, time.Since(start).Seconds()*1e3)
	}
	return p.Value().At(0), program.Median(times), nil
}
