package cases

import (
	"os"
	"runtime/debug"
	"testing"
)

// The formulas by hand make many small matrices and keep few of them: it is worth collecting them less often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
