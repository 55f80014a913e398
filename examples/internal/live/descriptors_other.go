//go:build !unix

package live

// descriptors returns the number of files that the process may open.
func descriptors() uint64 { return 4 * mostConnections }
