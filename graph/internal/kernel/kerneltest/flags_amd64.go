package kerneltest

import "runtime"

// readFlags returns the processor's word of what its vector instructions have met since it was cleared.
func readFlags() uint32
func clearFlags()

// Denormals runs f and tells whether an instruction of it was handed a number below the normal ones, or gave a rounded
// one that is, even if nothing remains of it but 0. Either takes an Intel processor some 150 times as long.
func Denormals(f func()) (met, made bool) {
	runtime.LockOSThread() // the word is the thread's
	defer runtime.UnlockOSThread()
	clearFlags()
	f()
	flags := readFlags()
	return flags&(1<<1) != 0, flags&(1<<4) != 0
}
