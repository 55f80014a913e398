// Package memory reads the memory of the machine from its operating system.
package memory

import "sync"

// OfMachine returns the memory in bytes that the process may use: the machine's, or the limit of its container (cgroup)
// if that is less. On systems other than Linux, macOS and the BSDs, and where the memory is unknown, it returns 0. It
// asks the system once, since that takes as long as building a small network.
var OfMachine = sync.OnceValue(ofMachine)
