package text

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// ShardsFile is the name of the file that describes the shards of a directory.
const ShardsFile = "shards.json"

// shardsFormat is the version of the format that this package writes and reads.
const shardsFormat = 1

// maxIndex is the largest size of shards.json in bytes: a tokenizer of the largest size and its shards.
const maxIndex = 64 << 20

// shardBuffer is the number of bytes that are read from a shard at a time.
const shardBuffer = 1 << 16

// Shards is a Corpus of token ids in files that are read by position, so it may be larger than memory: it holds only a
// buffer of 64 KiB for each part. A directory of shards contains
//
//	shards.json   {"format":1, "bytes":2, "vocab_size":V, "tokenizer":{…}, "train":[…], "val":[…]}
//	*.bin         ids, little-endian, of 2 bytes (uint16) or 4 (uint32) each, without a header
//
// where tokenizer is the object of a tokenizer.json, and train and val list the files of each part in their order as
// {"file":"train-00000.bin", "tokens":n, "sha256":"…"}. WriteShards writes it. Only one goroutine at a time may use a
// part.
type Shards struct {
	Tokenizer Tokenizer

	dir        string
	index      shardIndex
	sum        string
	train, val *shardSplit
}

type shardIndex struct {
	Format    int             `json:"format"`
	Bytes     int             `json:"bytes"` // of an id
	VocabSize int             `json:"vocab_size"`
	Tokenizer json.RawMessage `json:"tokenizer"`
	Train     []shardEntry    `json:"train"`
	Val       []shardEntry    `json:"val"`
}

type shardEntry struct {
	File   string `json:"file"`
	Tokens int    `json:"tokens"`
	SHA256 string `json:"sha256"`
}

// OpenShards opens the shards in dir; own are the user-defined kinds of tokenizer. A file that is missing or whose
// length differs from that in shards.json is an error. The caller must Close the result.
func OpenShards(dir string, own ...Kind) (*Shards, error) {
	data, err := file.Read(filepath.Join(dir, ShardsFile), maxIndex)
	if err != nil {
		return nil, errors.Wrap(err, "shards")
	}
	sum := sha256.Sum256(data)
	s := &Shards{dir: dir, sum: hex.EncodeToString(sum[:])}
	if err := s.open(data, own); err != nil {
		s.Close()
		return nil, errors.WithMessagef(err, "shards %s", dir)
	}
	return s, nil
}

func (s *Shards) open(data []byte, own []Kind) (err error) {
	if err := field.UnmarshalStrict(data, &s.index); err != nil {
		return errors.Wrap(err, ShardsFile)
	}
	switch {
	case s.index.Format != shardsFormat:
		return errors.Errorf("format: got %d, want %d", s.index.Format, shardsFormat)
	case s.index.Bytes != 2 && s.index.Bytes != 4:
		return errors.Errorf("bytes: got %d, want 2 or 4", s.index.Bytes)
	}
	if s.Tokenizer, err = Open(s.index.Tokenizer, own...); err != nil {
		return err
	}
	if got := s.Tokenizer.Size(); got != s.index.VocabSize {
		return errors.Errorf("vocab_size: got %d, the tokenizer has %d", s.index.VocabSize, got)
	}
	if s.train, err = s.split(s.index.Train); err != nil {
		return errors.WithMessage(err, "train")
	}
	s.val, err = s.split(s.index.Val)
	return errors.WithMessage(err, "val")
}

// Train returns the part to train on, or nil if the Shards are not open.
func (s *Shards) Train() Split {
	if s == nil || s.train == nil {
		return nil
	}
	return s.train
}

// Val returns the part to validate on, or nil if the Shards are not open.
func (s *Shards) Val() Split {
	if s == nil || s.val == nil {
		return nil
	}
	return s.val
}

// SHA256 returns the hash of shards.json, which contains the hashes of all files.
func (s *Shards) SHA256() string {
	if s == nil {
		return ""
	}
	return s.sum
}

// Verify reads every file once and compares its SHA-256 with that in shards.json.
func (s *Shards) Verify() error {
	if s == nil || s.train == nil {
		return errors.New("shards: not open, want what OpenShards returns")
	}
	for _, e := range slices.Concat(s.index.Train, s.index.Val) {
		f, err := file.Open(filepath.Join(s.dir, e.File))
		if err != nil {
			return errors.Wrap(field.Said(err), "shards")
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return errors.Wrapf(err, "shards %s", s.dir)
		}
		if got := hex.EncodeToString(h.Sum(nil)); got != e.SHA256 {
			return errors.Errorf("shards %s: %s: got sha256 %s, want %s",
				s.dir, field.Clip(e.File), got, field.Clip(e.SHA256))
		}
	}
	return nil
}

// Close closes the files.
func (s *Shards) Close() error {
	if s == nil {
		return nil
	}
	var first error
	for _, part := range []*shardSplit{s.train, s.val} {
		if part == nil {
			continue
		}
		for _, f := range part.shards {
			if err := f.Close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return errors.Wrap(first, "shards")
}
