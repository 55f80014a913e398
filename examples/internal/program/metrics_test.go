package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A long line is kept completely, and so are the lines after it.
func TestLongMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), MetricsFile)
	long := `{"step":2,"loss":2,"lr":0,"norm":0,"note":"` + strings.Repeat("a", 1<<17) + "\"}\n"
	want := `{"step":1,"loss":3}` + "\n" + long + `{"step":3,"loss":1}` + "\n"
	if err := os.WriteFile(path, []byte(want+`{"step":4,"loss":1}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := OpenMetrics(filepath.Dir(path), 3)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if got := string(read(t, path)); got != want || m.Loss.Len() != 3 {
		t.Errorf("%d steps in %d bytes, want 3 in %d", m.Loss.Len(), len(got), len(want))
	}
}
