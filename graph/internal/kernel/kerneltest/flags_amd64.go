package kerneltest

import "runtime"

// readFlags returns the register in which the processor's vector instructions have set flags since it was cleared.
func readFlags() uint32
func clearFlags()

// Denormals runs f and reports whether an instruction of it met a number below the normal ones as an operand, or
// produced one before rounding, even if the rounded result is 0. Either takes an Intel processor some 150 times as
// long.
func Denormals(f func()) (met, produced bool) {
	runtime.LockOSThread() // each thread has its own flags
	defer runtime.UnlockOSThread()
	clearFlags()
	f()
	flags := readFlags()
	return flags&(1<<1) != 0, flags&(1<<4) != 0
}
