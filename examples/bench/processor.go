package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// describeMachine returns the processor, its memory bandwidth and its peak rates.
func describeMachine() string {
	n := runtime.GOMAXPROCS(0)
	return fmt.Sprintf("%s; %d threads, kernels in %s; triad %.0f GB/s on one thread, %.0f on %d; "+
		"peak %.0f and %.0f GFLOP/s",
		processor(os.DirFS("/")), n, graph.Instructions(), triad(1), triad(n), n, graph.Peak(1), graph.Peak(n))
}

// processor returns model, vendor and caches as reported by Linux, or only the architecture elsewhere.
func processor(root fs.FS) string {
	facts := []string{}
	info, _ := fs.ReadFile(root, "proc/cpuinfo")
	for _, field := range []string{"model name", "vendor_id", "cpu family", "model", "stepping"} {
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == field {
				facts = append(facts, strings.TrimSpace(value))
				break
			}
		}
	}
	if len(facts) == 5 {
		facts = []string{fmt.Sprintf("%s (%s, family %s, model %s, stepping %s)",
			facts[0], facts[1], facts[2], facts[3], facts[4])}
	}
	if len(facts) == 0 {
		facts = []string{runtime.GOOS + " " + runtime.GOARCH}
	}
	caches, _ := fs.Glob(root, "sys/devices/system/cpu/cpu0/cache/index*")
	for _, dir := range caches {
		read := func(name string) string {
			text, _ := fs.ReadFile(root, path.Join(dir, name))
			return strings.TrimSpace(string(text))
		}
		if kind := read("type"); kind != "Instruction" {
			facts = append(facts, fmt.Sprintf("L%s %s", read("level"), read("size")))
		}
	}
	return strings.Join(facts, ", ")
}
