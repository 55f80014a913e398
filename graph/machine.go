package graph

// unknownMemory is what a machine is taken to have that does not say how much memory it has: 64 GiB.
const unknownMemory = 64 << 30

// MachineMemory returns the memory in bytes that the process may use: the machine's, or the limit of the container
// (cgroup) that it runs in if that is less. Where a system does not say, which is so on all but Linux, macOS and the
// BSDs, it is 64 GiB.
func MachineMemory() int64 {
	if n := machineMemory(); n > 0 {
		return n
	}
	return unknownMemory
}
