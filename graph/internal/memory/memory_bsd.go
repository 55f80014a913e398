//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package memory

import (
	"runtime"

	"golang.org/x/sys/unix"
)

func ofMachine() int64 {
	name := "hw.physmem"
	switch runtime.GOOS {
	case "darwin":
		name = "hw.memsize"
	case "netbsd":
		name = "hw.physmem64"
	}
	n, err := unix.SysctlUint64(name)
	if err != nil {
		return 0
	}
	return int64(n)
}
