package text

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzShards checks that no shards.json and no file of ids makes the reader panic or allocate a merely claimed size,
// and that the ids that are read are in the vocabulary and can be written and read again.
func FuzzShards(f *testing.F) {
	f.Add([]byte(`{"format":1,"bytes":2,"vocab_size":3,"tokenizer":{"type":"character","vocab":"abc"},`+
		`"train":[{"file":"a.bin","tokens":3,"sha256":""}],"val":[{"file":"a.bin","tokens":3,"sha256":""}]}`),
		[]byte{0, 0, 1, 0, 2, 0})
	f.Fuzz(func(t *testing.T, index, ids []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{ShardsFile: index, "a.bin": ids} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		var parts [2][]int
		var s *Shards
		fuzzed.Bounded(t, fuzzed.Linear(len(index)+len(ids)), 10*time.Second, func() { s = readShards(t, dir, &parts) })
		if s == nil {
			return
		}
		defer s.Close()
		if len(parts[0]) == 0 || len(parts[1]) == 0 {
			return
		}
		again := t.TempDir()
		if err := WriteShards(again, s.Tokenizer, 2, each(parts[0]), each(parts[1])); err != nil {
			t.Fatalf("cannot write what was read: %v", err)
		}
		var back [2][]int
		if r := readShards(t, again, &back); r == nil || !slices.Equal(back[0], parts[0]) ||
			!slices.Equal(back[1], parts[1]) {
			t.Fatalf("got %v, want %v", back, parts)
		} else if r.Close(); r.Tokenizer.Size() != s.Tokenizer.Size() {
			t.Fatalf("got a vocabulary of %d, want %d", r.Tokenizer.Size(), s.Tokenizer.Size())
		}
	})
}

// readShards reads both parts and returns nil if it cannot.
func readShards(t *testing.T, dir string, parts *[2][]int) *Shards {
	t.Helper()
	s, err := OpenShards(dir)
	if err != nil {
		return nil
	}
	for i, p := range []Split{s.Train(), s.Val()} {
		for at := 0; at < min(p.Len(), 1<<12); {
			ids := make([]int, min(p.Len()-at, 64))
			if err := p.Read(ids, at); err != nil {
				s.Close()
				return nil
			}
			if slices.Max(ids) >= s.Tokenizer.Size() || slices.Min(ids) < 0 {
				t.Fatalf("read %v of a vocabulary of %d", ids, s.Tokenizer.Size())
			}
			parts[i] = append(parts[i], ids...)
			at += len(ids)
		}
	}
	if _, err := json.Marshal(s.Tokenizer); err != nil {
		t.Fatal(err)
	}
	return s
}
