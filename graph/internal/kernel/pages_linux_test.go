package kernel

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestWeightsLieInHugePages: slices of some pages between others of their kind lie in huge pages, including their ends.
func TestWeightsLieInHugePages(t *testing.T) {
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	const n = 768 * 768 // 2.25 MiB
	var advised [][]float32
	for range 5 {
		advised = append(advised, Make[float32](n))
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	covered := make([]int, len(advised))
	var from, to uintptr
	for line := range strings.Lines(string(maps)) {
		var a, z uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &a, &z); n == 2 {
			from, to = a, z
		}
		if strings.HasPrefix(line, "VmFlags:") && strings.Contains(line, " hg") {
			for i, x := range advised {
				at := uintptr(unsafe.Pointer(&x[0]))
				covered[i] += max(0, int(min(to, at+4*n))-int(max(from, at)))
			}
		}
	}
	for i, bytes := range covered {
		if bytes != 4*n {
			t.Errorf("buffer %d: %d bytes in huge pages, want all %d", i, bytes, 4*n)
		}
	}
}
