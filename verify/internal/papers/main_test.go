package papers

import (
	"os"
	"runtime/debug"
	"testing"
)

// The formulas by hand make many small matrices and keep few of them: with fewer garbage collections they take a third
// less time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
