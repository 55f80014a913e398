package main

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

//go:embed torch_step.py
var torchStep string

// torch is an interpreter of Python that has PyTorch, or "".
type torch string

// probed is the number of threads that PyTorch is tried with.
const probed = 2

// findTorch looks for PyTorch, any version of it: in the interpreter that is named, else in those of the system, where
// it may be missing. It says what it found, since what multiplies for it decides its speed.
func findTorch(python string) (t torch, says string, err error) {
	candidates := []string{python}
	if python == "" {
		candidates = []string{"python3", "/usr/bin/python3"}
	}
	for _, name := range candidates {
		t = torch(name)
		line, failed := t.step("char", probed, 1, "float32")
		if failed == nil {
			return t, describeTorch(line), nil
		}
		err = failed
	}
	if python != "" {
		return "", "", errors.Wrap(err, "-python")
	}
	return "", "PyTorch: not installed", nil
}

// describeTorch is version, threads and BLAS, with a warning where that makes the comparison unfair to PyTorch.
func describeTorch(line measurement) string {
	blas, _ := line["blas"].(string)
	says := fmt.Sprintf("PyTorch %v, %v threads, BLAS %s", line["torch"], line["threads"], blas)
	switch {
	case line.number("threads") != probed:
		says += fmt.Sprintf(": %d threads were asked for", probed)
	case strings.Contains(blas, "/blas/libblas"):
		says += ": the reference, many times slower than OpenBLAS (Debian: apt-get install libopenblas0-openmp)"
	case strings.Contains(blas, "openblas-pthread"):
		says += ": built for pthreads, several times slower on two threads (Debian: apt-get install libopenblas0-openmp)"
	}
	return says
}

// step runs the step of a shape in a process of its own. Buffers stay with the process between steps, where malloc is
// glibc's: that is its fastest.
func (t torch) step(shape string, threads, steps int, precision string) (measurement, error) {
	c := exec.Command(string(t), "-c", torchStep, shape, strconv.Itoa(threads), strconv.Itoa(steps), precision)
	c.Env = append(os.Environ(), "MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=8589934592",
		"MALLOC_TOP_PAD_=268435456")
	return measured(c)
}
