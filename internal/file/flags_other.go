//go:build !unix

package file

// There are no FIFOs in such systems' directories, and few links.
const (
	nonBlock = 0
	noFollow = 0
)
