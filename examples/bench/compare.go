package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

// comparison runs this program and PyTorch in turn, rounds times each. Both run as separate processes on the same
// machine within seconds, because absolute times drift.
type comparison struct {
	rounds    int
	quick     bool
	python    string // an interpreter with PyTorch; optional
	gomlx     string // the folder of the program of GoMLX, to compare with that instead; optional
	llama     string // a folder of npm with node-llama-cpp, to compare with llama.cpp instead; optional
	precision string // of this program; if it is bf16, the faster of PyTorch's float32 and bf16 is compared
}

// measurement is a line of JSON from this program or PyTorch.
type measurement map[string]any

func (m measurement) number(field string) float64 {
	x, _ := m[field].(float64)
	return x
}

// print prints PyTorch's version, a table of medians of medians, and the machine.
func (c comparison) print(w io.Writer) error {
	if c.llama != "" || c.gomlx != "" {
		beside := c.besideLlama
		if c.gomlx != "" {
			beside = c.besideGoMLX
		}
		if err := beside(w); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\n%s\n", describeMachine())
		return err
	}
	theirs, version, err := findTorch(c.python)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n\n", version)
	fmt.Fprintln(w, "| shape, threads | ms/step | tok/s | of peak | MiB | PyTorch ms/step | MiB | times faster |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range []row{{"char", 2, 300}, {"char", 1, 200}, {"baby", 2, 15}, {"gpt2", 2, 8}} {
		if c.quick {
			c.rounds, r.steps = 1, 2
		}
		if err := c.row(w, r, theirs); err != nil {
			return err
		}
	}
	// The machine comes last: a process inherits the peak of memory from the one that starts it.
	fmt.Fprintf(w, "\n%s\n", describeMachine())
	return nil
}

type row struct {
	shape          string
	threads, steps int
}

func (c comparison) row(w io.Writer, r row, python torch) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var ours, theirs, rounded []measurement
	for range c.rounds {
		line, err := measured(exec.Command(self, "-shape", r.shape, "-threads", strconv.Itoa(r.threads), "-steps",
			strconv.Itoa(r.steps), "-precision", c.precision))
		if err != nil {
			return err
		}
		ours = append(ours, line)
		if python == "" {
			continue
		}
		if line, err = python.step(r.shape, r.threads, r.steps, "float32"); err != nil {
			return err
		}
		theirs = append(theirs, line)
		if c.precision == "bf16" {
			if line, err = python.step(r.shape, r.threads, r.steps, "bf16"); err != nil {
				return err
			}
			rounded = append(rounded, line)
		}
	}
	fmt.Fprintf(w, "| %s, %d | %.1f | %.0f | %.0f %% | %.0f |", r.shape, r.threads, median(ours, "ms_median"),
		median(ours, "tok_per_s"), 100*median(ours, "peak_fraction"), median(ours, "rss_mib"))
	if python == "" {
		fmt.Fprintln(w, " not installed | | |")
		return nil
	}
	fmt.Fprintf(w, " %.1f", median(theirs, "ms_median"))
	if rounded != nil {
		fmt.Fprintf(w, ", bf16 %.1f", median(rounded, "ms_median"))
	}
	fmt.Fprintf(w, " | %.0f | %.2f |\n", median(theirs, "rss_mib"), program.Median(timesFaster(ours, theirs, rounded)))
	return nil
}

// timesFaster returns, for each round, the time of PyTorch's faster precision divided by ours.
func timesFaster(ours, theirs, rounded []measurement) (ratios []float64) {
	for i, o := range ours {
		best := theirs[i].number("ms_median")
		if rounded != nil {
			best = min(best, rounded[i].number("ms_median"))
		}
		ratios = append(ratios, best/o.number("ms_median"))
	}
	return ratios
}

func measured(c *exec.Cmd) (line measurement, err error) {
	out, err := c.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		return nil, errors.Wrap(err, c.Path+": "+strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return nil, errors.Wrap(err, c.Path)
	}
	return line, errors.Wrap(json.Unmarshal(out, &line), c.Path)
}

func median(lines []measurement, field string) float64 {
	var xs []float64
	for _, l := range lines {
		xs = append(xs, l.number(field))
	}
	return program.Median(xs)
}
