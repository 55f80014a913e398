package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// threadCounts reads a list such as 1,2,4.
func threadCounts(list string) (counts []int, err error) {
	for i, field := range strings.Split(list, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 || n > 4096 {
			return nil, errors.Errorf(
				"-threads: element %d: got %q, want numbers up to 4096, such as 2 or 1,2,4; 0 means one per processor",
				i+1, field)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

// curve prints the gain of more threads: it runs this program with the same flags once for each number of threads, each
// time in a separate process.
func curve(w io.Writer, args []string, counts []int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "| threads | ms/step | tok/s | of peak | MiB | times the first |\n|---|---|---|---|---|---|")
	first := 0.
	for _, n := range counts {
		line, err := measured(exec.Command(self, slices.Concat(args, []string{"-threads", strconv.Itoa(n)})...))
		if err != nil {
			return err
		}
		ms := line.number("ms_median")
		if first == 0 {
			first = ms
		}
		fmt.Fprintf(w, "| %d | %.1f | %.0f | %.0f %% | %.0f | %.2f |\n", n, ms, line.number("tok_per_s"),
			100*line.number("peak_fraction"), line.number("rss_mib"), first/ms)
	}
	return nil
}
