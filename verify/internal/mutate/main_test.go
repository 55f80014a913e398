package main

import (
	"os"
	"runtime/debug"
	"testing"
)

// Trees and types of packages are made once and kept: what is collected less often is there sooner.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
