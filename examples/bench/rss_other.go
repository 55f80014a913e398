//go:build !unix

package main

// maxRSS returns 0, because the value is not available here.
func maxRSS() int64 { return 0 }
