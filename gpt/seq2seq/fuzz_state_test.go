package seq2seq

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzState checks that no state.json of an encoder–decoder makes the reader panic, and that an accepted one is the
// same after writing and reading it.
func FuzzState(f *testing.F) {
	tr, v := newTrainer(f, small()), abc(f)
	for _, file := range filesOf(f, tr, v, v) {
		var b bytes.Buffer
		if file.Name != train.StateFile {
			continue
		}
		if err := file.Write(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(data []byte) (s State, err error) {
			cp := saved(t, tr, v, train.StateFile, func([]byte) []byte { return data })
			defer cp.Close()
			fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { s, err = ReadState(cp) })
			return s, err
		}
		s, err := read(data)
		if err != nil || s.Format != stateFormat { // older formats are converted when read
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(text)
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if diff := cmp.Diff(s, again, cmp.AllowUnexported(Vocabulary{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after JSON (-want +got):\n%s", diff)
		}
	})
}
