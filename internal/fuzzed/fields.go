package fuzzed

import (
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// Settings is a configuration that is set by flags and by JSON.
type Settings interface {
	json.Unmarshaler
	Flags(fs *flag.FlagSet)
}

// Fields sets the named fields to nonsensical values, by flag and by JSON. A refused value must be refused with the
// field's name and in little memory, and an accepted one must not panic. use does everything with a configuration until
// the first error. One of ten values is tried; NIGHTLY=1 tries all.
func Fields[C Settings](t *testing.T, names []string, base func() C, use func(c C) error) {
	t.Helper()
	values := []string{
		"0", "-1", "4611686018427387904", "1099511627776", "268435456", "90000", "NaN", "+Inf", "1e300", "", "nosuch",
		"true",
	}
	tried, refused := 0, 0
	for i, name := range names {
		for j, value := range values {
			if os.Getenv("NIGHTLY") == "" && (i+j)%10 > 0 {
				continue
			}
			c := base()
			fs := flag.NewFlagSet("", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			c.Flags(fs)
			tried++
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := fs.Set(name, value)
			if err != nil {
				err = errors.Wrap(err, name) // the flag package adds it to its message
			} else {
				err = use(c)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; err != nil && got > 16<<20 {
				t.Errorf("%s %q: allocated %d bytes", name, value, got)
			}
			if err != nil {
				if refused++; !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "memory: got") {
					t.Errorf("%s %q: the error does not name it: %v", name, value, err)
				}
			}
			text := value
			if x, err := strconv.ParseFloat(value, 64); err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
				text = strconv.Quote(value)
			}
			c = base()
			if err := json.Unmarshal([]byte(`{"`+name+`": `+text+`}`), c); err == nil {
				use(c)
			} else if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %s: the error does not name it: %v", name, text, err)
			}
		}
	}
	if os.Getenv("NIGHTLY") != "" && tried < 400 || refused < tried/2 {
		t.Errorf("tried %d values, refused %d: want at least 400, and half of them refused", tried, refused)
	}
}
