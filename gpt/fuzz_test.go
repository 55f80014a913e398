package gpt

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/fuzzed"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// written returns the content of a file of a checkpoint.
func written(t testing.TB, write func(w *bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzState: no state.json makes the reader panic, and an accepted one is the same after writing and reading.
func FuzzState(f *testing.F) {
	contents := map[string][]byte{}
	trainer := newTrainer(f, tiny())
	list, err := trainer.Files()
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range list {
		contents[file.Name] = written(f, func(b *bytes.Buffer) error { return file.Write(b) })
	}
	f.Add(bytes.ReplaceAll(contents[train.StateFile], []byte(`"step": 0`), []byte(`"step": 3`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(data []byte) (s train.State[Config], err error) {
			cp, err := checkpoint.Load(fuzzed.Planted(t, map[string][]byte{train.StateFile: nil}, train.StateFile, data))
			if err != nil {
				t.Fatal(err)
			}
			defer cp.Close()
			fuzzed.Bounded(t, len(data), func() { s, err = readState(cp, parts.Registry{}) })
			return s, err
		}
		s, err := read(data)
		if err != nil {
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
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("after JSON (-want +got):\n%s", diff)
		}
	})
}

// FuzzMoments: no file of moments makes the reader panic. A refused one changes nothing, and an accepted one has the
// same numbers after writing and reading.
func FuzzMoments(f *testing.F) {
	c := tiny()
	c.NLayer, c.NHead, c.NEmbd, c.QKSize, c.VSize, c.NInner = 1, 1, 2, 1, 1, 2
	trainer := newTrainer(f, c)
	steps(f, trainer, 1)
	f.Add(written(f, func(b *bytes.Buffer) error { return trainer.WriteMoments(b) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := written(t, func(b *bytes.Buffer) error { return trainer.WriteMoments(b) })
		read := func(data []byte) (err error) {
			fuzzed.Bounded(t, len(data)+len(before), func() {
				var file *safetensors.File
				if file, err = safetensors.Open(bytes.NewReader(data), int64(len(data))); err == nil {
					err = train.Restore(trainer.Moments(), file)
				}
			})
			return err
		}
		accepted := read(data)
		after := written(t, func(b *bytes.Buffer) error { return trainer.WriteMoments(b) })
		if accepted != nil {
			if !bytes.Equal(after, before) {
				t.Fatalf("refused (%v), and yet changed", accepted)
			}
			return
		}
		if err := read(after); err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if again := written(t, func(b *bytes.Buffer) error { return trainer.WriteMoments(b) }); !bytes.Equal(again, after) {
			t.Fatal("written and read the moments are others")
		}
	})
}

// FuzzAdapters: the same for a file of adapters.
func FuzzAdapters(f *testing.F) {
	c := tiny()
	c.VocabSize, c.LoraR, c.LoraTargets = 11, 2, []string{"c_fc"}
	m, err := New(emptyGraph(), c, 1)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(written(f, func(b *bytes.Buffer) error { return m.WriteAdapters(b) }))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := written(t, func(b *bytes.Buffer) error { return m.WriteAdapters(b) })
		read := func(data []byte) (err error) {
			fuzzed.Bounded(t, len(data)+len(before), func() { err = m.ReadAdapters(data) })
			return err
		}
		accepted := read(data)
		after := written(t, func(b *bytes.Buffer) error { return m.WriteAdapters(b) })
		switch {
		case accepted != nil && !bytes.Equal(after, before):
			t.Fatalf("refused (%v), and yet changed", accepted)
		case accepted == nil && read(after) != nil:
			t.Fatalf("cannot read what was written: %v", read(after))
		}
		if again := written(t, func(b *bytes.Buffer) error { return m.WriteAdapters(b) }); !bytes.Equal(again, after) {
			t.Fatal("written and read the adapters are others")
		}
	})
}
