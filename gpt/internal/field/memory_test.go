package field

import (
	"strings"
	"testing"
)

// A need of exactly the limit is allowed.
func TestMemoryLimitBorder(t *testing.T) {
	n := 3
	fields := List{New("n", &n, Any(), "")}
	if err := fields.CheckMemory(64<<30, 64<<30, "all", "n"); err != nil {
		t.Errorf("got %v", err)
	}
	if err := fields.CheckMemory(64<<30, 64<<30+1, "all", "n"); err == nil ||
		!strings.Contains(err.Error(), "64 GiB for all of n 3; want at most 64 GiB") {
		t.Errorf("got %v", err)
	}
}
