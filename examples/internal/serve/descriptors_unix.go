//go:build unix

package serve

import "syscall"

// descriptors returns the number of files that the process may open.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 4 * mostConnections
	}
	return uint64(limit.Cur)
}
