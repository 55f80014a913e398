package cases

import (
	"os"
	"runtime/debug"
	"testing"
)

// The formulas by hand create many small matrices and keep few of them, so fewer garbage collections save time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
