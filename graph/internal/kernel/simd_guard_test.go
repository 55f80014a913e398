//go:build linux || darwin

package kernel

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// TestKernelsStayInTheirOperands runs every kernel on operands whose last number, and then whose first, is next to a
// page that must not be read. By day it takes the lengths around multiples of 16, and some others.
func TestKernelsStayInTheirOperands(t *testing.T) {
	page := syscall.Getpagesize()
	kerneltest.EachSet(t, func(t *testing.T, v *simd.Set) {
		for n := range 68 {
			if os.Getenv("NIGHTLY") == "" && (n+1)%16 > 2 && n%5 > 0 {
				continue
			}
			for _, atEnd := range []bool{true, false} {
				var maps [][]byte
				got := runAll(v, n, kerneltest.Random[float32], func(x []float32) []float32 {
					m, err := syscall.Mmap(
						-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE,
					)
					if err != nil {
						t.Fatal(err)
					}
					maps = append(maps, m)
					for _, guard := range [][]byte{m[:page], m[2*page:]} {
						if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
							t.Fatal(err)
						}
					}
					inner := unsafe.Slice((*float32)(unsafe.Pointer(&m[page])), page/4)
					if atEnd {
						inner = inner[len(inner)-len(x):]
					}
					copy(inner, x)
					return inner[:len(x):len(x)]
				})
				sameResults(t, n, got, runAll(v, n, kerneltest.Random[float32], itself))
				for _, m := range maps {
					if err := syscall.Munmap(m); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	})
}
