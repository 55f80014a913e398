package text

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"sort"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// shardSplit is a Split of the tokens of several files, one after another.
type shardSplit struct {
	shards []shard
	width  int // bytes of an id
	vocab  int
	buffer []byte
}

// shard is a file that holds the tokens from position start up to, but excluding, end.
type shard struct {
	*os.File
	start, end int
}

func (s *Shards) split(entries []shardEntry) (*shardSplit, error) {
	p := &shardSplit{width: s.index.Bytes, vocab: s.index.VocabSize, buffer: make([]byte, shardBuffer)}
	for _, e := range entries {
		if e.File != filepath.Base(e.File) || !filepath.IsLocal(e.File) {
			return p, errors.Errorf("file: got %.64q, want a name without a directory", e.File)
		}
		f, err := file.Open(filepath.Join(s.dir, e.File))
		if err != nil {
			return p, errors.WithStack(field.Said(err))
		}
		start := p.Len()
		p.shards = append(p.shards, shard{f, start, start + e.Tokens})
		info, err := f.Stat()
		if err != nil {
			return p, errors.WithStack(err)
		}
		if size := info.Size(); e.Tokens < 1 || size%int64(p.width) != 0 || size/int64(p.width) != int64(e.Tokens) {
			return p, errors.Errorf("%s: got %d bytes, want %d tokens of %d bytes, 1 or more",
				field.Clip(e.File), info.Size(), e.Tokens, p.width)
		}
	}
	return p, nil
}

// Len returns the number of tokens.
func (p *shardSplit) Len() int {
	if len(p.shards) == 0 {
		return 0
	}
	return p.shards[len(p.shards)-1].end
}

// Read fills ids from all files that contain them. An id outside the vocabulary is an error.
func (p *shardSplit) Read(ids []int, at int) error {
	if at < 0 || at > p.Len()-len(ids) {
		return errors.Errorf("shards: got %d tokens from position %d on, want them within 0 … %d",
			len(ids), at, p.Len())
	}
	i := sort.Search(len(p.shards), func(i int) bool { return at < p.shards[i].end })
	for len(ids) > 0 {
		f := p.shards[i]
		n := min(len(ids), f.end-at, len(p.buffer)/p.width)
		data := p.buffer[:n*p.width]
		if _, err := f.ReadAt(data, int64(at-f.start)*int64(p.width)); err != nil {
			return errors.Wrap(err, "shards")
		}
		for k := range n {
			if p.width == 2 {
				ids[k] = int(binary.LittleEndian.Uint16(data[2*k:]))
			} else {
				ids[k] = int(binary.LittleEndian.Uint32(data[4*k:]))
			}
			if ids[k] >= p.vocab {
				return errors.Errorf("shards: %s: token %d is %d, want 0 … %d",
					field.Clip(filepath.Base(f.Name())), at-f.start+k, ids[k], p.vocab-1)
			}
		}
		ids, at = ids[n:], at+n
		if at == f.end {
			i++
		}
	}
	return nil
}
