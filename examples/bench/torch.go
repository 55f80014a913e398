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

// torch is a Python interpreter with PyTorch, or "".
type torch string

// probed is the number of threads that PyTorch is tried with.
const probed = 2

// findTorch looks for PyTorch of any version in the named interpreter, or else in the system's, where it may be
// missing. It returns a description of it, because its BLAS determines its speed.
func findTorch(python string) (t torch, version string, err error) {
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

// describeTorch returns version, threads and BLAS, with a warning if they make the comparison unfair to PyTorch.
func describeTorch(line measurement) string {
	blas, _ := line["blas"].(string)
	version := fmt.Sprintf("PyTorch %v, %v threads, BLAS %s", line["torch"], line["threads"], blas)
	switch {
	case line.number("threads") != probed:
		version += fmt.Sprintf(": %d threads were requested", probed)
	case strings.Contains(blas, "/blas/libblas"):
		version += ": the reference, many times slower than OpenBLAS (Debian: apt-get install libopenblas0-openmp)"
	case strings.Contains(blas, "openblas-pthread"):
		version += ": built for pthreads, several times slower on two threads " +
			"(Debian: apt-get install libopenblas0-openmp)"
	}
	return version
}

// step runs the steps of a shape in a separate process. With glibc's malloc the process keeps buffers between steps,
// which is fastest.
func (t torch) step(shape string, threads, steps int, precision string) (measurement, error) {
	c := exec.Command(string(t), "-c", torchStep, shape, strconv.Itoa(threads), strconv.Itoa(steps), precision)
	c.Env = append(os.Environ(), "MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=8589934592",
		"MALLOC_TOP_PAD_=268435456")
	return measured(c)
}
