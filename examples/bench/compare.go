package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pkg/errors"
)

//go:embed torch_step.py
var torchStep string

// compare runs this program and, where it is installed, PyTorch in turn, rounds times each, and prints a table of
// medians of medians. Both run as separate processes, on the same machine within seconds, since absolute times drift.
func compare(w io.Writer, rounds int, quick bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	python := python()
	fmt.Fprintln(w, "| shape, threads | ms/step | tok/s | of peak | MiB | PyTorch ms/step | MiB | times faster |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for _, r := range []struct {
		shape          string
		threads, steps int
	}{{"char", 2, 300}, {"char", 1, 200}, {"baby", 2, 15}, {"gpt2", 2, 8}} {
		if quick {
			rounds, r.steps = 1, 2
		}
		var ours, theirs []map[string]any
		for range rounds {
			line, err := measured(exec.Command(self, "-shape", r.shape, "-threads", strconv.Itoa(r.threads),
				"-steps", strconv.Itoa(r.steps)))
			if err != nil {
				return err
			}
			ours = append(ours, line)
			if python == "" {
				continue
			}
			c := exec.Command(python, "-c", torchStep, r.shape, strconv.Itoa(r.threads), strconv.Itoa(r.steps))
			c.Env = torchEnv(r.threads)
			if line, err = measured(c); err != nil {
				return err
			}
			theirs = append(theirs, line)
		}
		fmt.Fprintf(w, "| %s, %d | %.1f | %.0f | %.0f %% | %.0f |", r.shape, r.threads, median(ours, "ms_median"),
			median(ours, "tok_per_s"), 100*median(ours, "peak_fraction"), median(ours, "rss_mib"))
		if python == "" {
			fmt.Fprintln(w, " not installed | | |")
			continue
		}
		var ratios []float64
		for i := range ours {
			ratios = append(ratios, theirs[i]["ms_median"].(float64)/ours[i]["ms_median"].(float64))
		}
		fmt.Fprintf(w, " %.1f | %.0f | %.2f |\n", median(theirs, "ms_median"), median(theirs, "rss_mib"),
			program.Median(ratios))
	}
	return nil
}

// python is an interpreter that has PyTorch, or "".
func python() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import torch").Run() == nil {
			return name
		}
	}
	return ""
}

// torchEnv gives PyTorch what it is fastest with: its number of threads, and the OpenMP build of OpenBLAS where Debian
// has put one.
func torchEnv(threads int) []string {
	env := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "OPENBLAS_") })
	env = append(env, fmt.Sprintf("OMP_NUM_THREADS=%d", threads), fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", threads))
	if found, _ := filepath.Glob("/usr/lib/*/openblas-openmp"); len(found) > 0 {
		env = append(env, "LD_LIBRARY_PATH="+found[0])
	}
	return env
}

func measured(c *exec.Cmd) (line map[string]any, err error) {
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, errors.Wrap(err, c.Path)
	}
	return line, errors.Wrap(json.Unmarshal(out, &line), c.Path)
}

func median(lines []map[string]any, field string) float64 {
	var xs []float64
	for _, l := range lines {
		x, _ := l[field].(float64)
		xs = append(xs, x)
	}
	return program.Median(xs)
}
