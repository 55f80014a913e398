//go:build !unix

package serve

// descriptors returns the number of files that the process may open.
func descriptors() uint64 { return 4 * mostConnections }
