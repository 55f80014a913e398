//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package graph

func machineMemory() int64 { return 0 }
