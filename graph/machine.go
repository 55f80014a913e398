package graph

// unknownMemory is the memory assumed for a machine that does not report it: 64 GiB.
const unknownMemory = 64 << 30

// MachineMemory returns the memory in bytes that the process may use: the machine's, or the limit of its container
// (cgroup) if that is less. On systems other than Linux, macOS and the BSDs, and where the memory is unknown, it
// returns 64 GiB.
func MachineMemory() int64 {
	if n := machineMemory(); n > 0 {
		return n
	}
	return unknownMemory
}
