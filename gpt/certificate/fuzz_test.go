package certificate

import (
	"bytes"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzDecode reads any bytes as a certificate, in linear memory and time. What is accepted is written as it was read,
// and can be replayed and resumed.
func FuzzDecode(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		var c *Certificate
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 5*time.Second, func() { c, err = Decode(data) })
		if err != nil {
			fuzzed.Plain(t, "certificate", err)
			return
		}
		again, err := c.Encode()
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("got %s, %v, want %s", again, err, data)
		}
		if _, err := c.Replay(c.From); err != nil {
			t.Error(err)
		}
		if links, err := c.Compare(c); err != nil || links != len(c.Links) {
			t.Errorf("compared with itself: %d of %d links, %v", links, len(c.Links), err)
		}
		if last := c.Last(); len(c.Links) > 0 {
			if _, err := c.Resume(last.Step, ThisBuild()); err != nil {
				t.Error(err)
			}
		}
	})
}
