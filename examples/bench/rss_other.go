//go:build !unix

package main

// maxRSS is not known here.
func maxRSS() int64 { return 0 }
