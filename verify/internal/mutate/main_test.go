package main

import (
	"os"
	"runtime/debug"
	"testing"
)

// Trees and types of packages are built once and kept, so fewer garbage collections save time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
