package text

import (
	"encoding/json"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/errors"
)

// sized is a tokenizer of V tokens that encodes nothing.
type sized struct {
	Bytes
	V int `json:"v"`
}

func (v sized) Size() int { return v.V }

func (v sized) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"type": "vocabulary", "v": v.V})
}

func vocabularyKind() Kind {
	return Kind{Name: "vocabulary", Open: func(data []byte) (Tokenizer, error) {
		var v struct{ V int }
		err := json.Unmarshal(data, &v)
		return sized{V: v.V}, err
	}}
}

func each(ids []int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// shards writes random ids of a vocabulary of the given size, and opens them.
func shards(t testing.TB, vocab, train, val, perShard int) (dir string, s *Shards, want [2]Tokens) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(vocab)))
	for i, n := range []int{train, val} {
		for range n {
			want[i] = append(want[i], rng.IntN(vocab))
		}
		want[i][0] = vocab - 1
	}
	dir = t.TempDir()
	if err := WriteShards(dir, sized{V: vocab}, perShard, each(want[0]), each(want[1])); err != nil {
		t.Fatal(err)
	}
	s, err := OpenShards(dir, vocabularyKind())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return dir, s, want
}

// Batches from shards equal batches of the same ids in memory, within a file, across files and across buffers, even for
// a set that is larger than its buffers.
func TestShards(t *testing.T) {
	for _, c := range []struct{ vocab, train, val, perShard, files int }{
		{300, 50, 20, 7, 8},
		{1 << 16, 100_000, 35_000, 40_000, 3}, // 200 kB of uint16, buffers of 64 KiB
		{1<<16 + 1, 100_000, 35_000, 1 << 20, 1},
	} {
		dir, s, want := shards(t, c.vocab, c.train, c.val, c.perShard)
		if files, _ := filepath.Glob(filepath.Join(dir, "train-*.bin")); len(files) != c.files {
			t.Errorf("got files %v, want %d", files, c.files)
		}
		if err := s.Verify(); err != nil {
			t.Error(err)
		}
		for i, part := range []Split{s.Train(), s.Val()} {
			all := make(Tokens, part.Len())
			if err := part.Read(all, 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[i], all); diff != "" {
				t.Fatalf("(-want +got):\n%.1000s", diff)
			}
			const B, T = 3, 5
			rng, twin := rand.New(rand.NewPCG(5, 6)), rand.New(rand.NewPCG(5, 6))
			x, y, wantX, wantY := make([]int, B*T), make([]int, B*T), make([]int, B*T), make([]int, B*T)
			for range 200 {
				if err := errors.WithStack(Sample(part, rng, x, y, T)); err != nil {
					t.Fatal(err)
				}
				if err := Sample(want[i], twin, wantX, wantY, T); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([][]int{wantX, wantY}, [][]int{x, y}); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
		}
	}
}

func TestShardsInBoundedMemory(t *testing.T) {
	_, s, _ := shards(t, 300, 1_000_000, 10, 300_000)
	x, y, rng := make([]int, 640), make([]int, 640), rand.New(rand.NewPCG(1, 2))
	before := allocated()
	for range 1000 { // 640,000 tokens
		if err := Sample(s.Train(), rng, x, y, 64); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range Blocks(s.Train(), x, y, 64) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := allocated() - before; got > shardBuffer {
		t.Errorf("reading the 2 MB twice allocated %d bytes, want at most %d", got, shardBuffer)
	}
}

// The files identify the corpus, and damage is found when they are opened, read or verified.
func TestShardsDamage(t *testing.T) {
	dir, s, _ := shards(t, 300, 50, 20, 7)
	_, other, _ := shards(t, 301, 50, 20, 7)
	if s.SHA256() == other.SHA256() {
		t.Error("two corpora have one SHA-256")
	}
	index, err := os.ReadFile(filepath.Join(dir, ShardsFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, reason string }{
		{`"format": 1`, `"format": 2`, "format: got 2, want 1"},
		{`"bytes": 2`, `"bytes": 3`, "bytes: got 3, want 2 or 4"},
		{`"bytes": 2`, `"bytes": 4`, "train-00000.bin: got 14 bytes, want 7 tokens of 4 bytes"},
		{`"vocab_size": 300`, `"vocab_size": 299`, "vocab_size: got 299, the tokenizer has 300"},
		{`train-00001.bin`, `../train-00001.bin`, "want a name without a directory"},
		{`train-00001.bin`, `train-00009.bin`, "train-00009.bin"},
		{`"tokens": 7`, `"tokens": 4611686018427387911`, "want 4611686018427387911 tokens"},
		{`"type": "vocabulary"`, `"type": "piece"`, `got "piece"`},
		{`"val"`, `"test"`, "unknown field"},
	} {
		changed := strings.Replace(string(index), c.old, c.new, 1)
		if changed == string(index) {
			t.Fatalf("%s is not in the index", c.old)
		}
		if err := os.WriteFile(filepath.Join(dir, ShardsFile), []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenShards(dir, vocabularyKind())
		wantError(t, err, dir, c.reason)
	}
	if err := os.WriteFile(
		filepath.Join(dir, "train-00002.bin"), []byte(strings.Repeat("\xff", 14)), 0o600,
	); err != nil {
		t.Fatal(err)
	}
	wantError(t, s.Verify(), "train-00002.bin", "sha256")
	wantError(t, s.Train().Read(make([]int, 50), 0), "train-00002.bin", "token 0 is 65535, want 0 … 299")
}

func TestWriteShardsErrors(t *testing.T) {
	none, dir := each(nil), t.TempDir()
	wantError(t, WriteShards(dir, sized{V: 3}, 0, none, none), "got 0 tokens a shard")
	wantError(
		t, WriteShards(t.TempDir(), sized{V: 3}, 2, each([]int{1, 2, 3}), none),
		"train-00001.bin: token 0 is 3, want 0 … 2",
	)
	broken := func(yield func(int, error) bool) { yield(0, errors.New("the source ended")) }
	wantError(t, WriteShards(dir, sized{V: 3}, 2, each([]int{1}), broken), "the source ended")
	if _, err := OpenShards(dir, vocabularyKind()); err == nil {
		t.Error("incomplete shards were opened")
	}
	wantError(t, WriteShards(dir, sized{V: 3}, 2, each([]int{1}), none), "exists")
}
