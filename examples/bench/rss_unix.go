//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// maxRSS returns the peak memory of the process in MiB.
func maxRSS() int64 {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" { // in bytes there, in KiB elsewhere
		return int64(r.Maxrss) >> 20
	}
	return int64(r.Maxrss) >> 10
}
