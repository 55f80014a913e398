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

// describeMachine returns the processor, what moves numbers and what computes with them.
func describeMachine() string {
	n := runtime.GOMAXPROCS(0)
	return fmt.Sprintf("%s; %d threads, kernels in %s; triad %.0f GB/s on one thread, %.0f on %d; peak %.0f and %.0f GFLOP/s",
		processor(os.DirFS("/")), n, graph.Instructions(), triad(1), triad(n), n, graph.Peak(1), graph.Peak(n))
}

// processor is model, vendor and caches as Linux tells them, elsewhere the architecture alone.
func processor(root fs.FS) string {
	says := []string{}
	info, _ := fs.ReadFile(root, "proc/cpuinfo")
	for _, field := range []string{"model name", "vendor_id", "cpu family", "model", "stepping"} {
		for line := range strings.Lines(string(info)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == field {
				says = append(says, strings.TrimSpace(value))
				break
			}
		}
	}
	if len(says) == 5 {
		says = []string{fmt.Sprintf("%s (%s, family %s, model %s, stepping %s)", says[0], says[1], says[2], says[3], says[4])}
	}
	if len(says) == 0 {
		says = []string{runtime.GOOS + " " + runtime.GOARCH}
	}
	caches, _ := fs.Glob(root, "sys/devices/system/cpu/cpu0/cache/index*")
	for _, dir := range caches {
		read := func(name string) string {
			text, _ := fs.ReadFile(root, path.Join(dir, name))
			return strings.TrimSpace(string(text))
		}
		if kind := read("type"); kind != "Instruction" {
			says = append(says, fmt.Sprintf("L%s %s", read("level"), read("size")))
		}
	}
	return strings.Join(says, ", ")
}
