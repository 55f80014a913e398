//go:build !unix

package file

// These systems have no FIFOs in directories and few links.
const (
	nonBlock = 0
	noFollow = 0
)
