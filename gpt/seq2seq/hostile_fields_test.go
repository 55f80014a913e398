package seq2seq

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

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Every field with values that nobody means, by flag and by JSON: what is refused is refused with the field's name and
// in little memory, what is counted does not panic, and what passes can be built.
func TestHostileFields(t *testing.T) {
	values := []string{"0", "-1", "4611686018427387904", "1099511627776", "268435456", "90000", "NaN", "+Inf", "1e300", "", "nosuch", "true"}
	tried, refused := 0, 0
	base := hostile()
	for i, name := range base.fields().Names() {
		for j, value := range values {
			if os.Getenv("NIGHTLY") == "" && (i+j)%4 > 0 {
				continue
			}
			c := hostile()
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
			if _, err := strconv.ParseFloat(value, 64); err != nil || math.IsNaN(float(value)) || math.IsInf(float(value), 0) {
				text = strconv.Quote(value)
			}
			c = hostile()
			if err := json.Unmarshal([]byte(`{"`+name+`": `+text+`}`), &c); err == nil {
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

func float(s string) float64 { x, _ := strconv.ParseFloat(s, 64); return x }

// use does all that reads a configuration alone, and builds what passes.
func use(c Config) error {
	err := c.Validate()
	c.Memory()
	json.Marshal(c)
	c.ResumeDiff(small())
	g := graph.New(graph.Float32, 1)
	g.SetMemoryLimit(c.Limit())
	if _, failed := New(g, c, c.BatchSize); err == nil {
		err = failed
	}
	return err
}

func hostile() Config {
	c := small()
	c.MemoryLimit = 0.004
	return c
}
