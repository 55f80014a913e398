package text

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// WriteShards writes the ids of both parts into files of at most perShard tokens in dir, which must not hold shards
// yet. It writes the file that describes them last, so the remains of a failed call do not open. The ids belong to tok
// and come one by one: neither part must fit into memory. An error that comes with an id ends the writing.
func WriteShards(dir string, tok Tokenizer, perShard int, train, val iter.Seq2[int, error]) error {
	return errors.WithMessagef(writeShards(dir, tok, perShard, train, val), "shards %s", dir)
}

func writeShards(dir string, tok Tokenizer, perShard int, train, val iter.Seq2[int, error]) error {
	switch {
	case perShard < 1:
		return errors.Errorf("got %d tokens a shard, want 1 or more", perShard)
	case tok == nil || train == nil || val == nil:
		return errors.New("the tokenizer, train or val is nil")
	}
	object, err := tok.MarshalJSON()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return errors.WithStack(err)
	}
	index := shardIndex{Format: shardsFormat, Bytes: 2, VocabSize: tok.Size(), Tokenizer: object}
	if tok.Size() > 1<<16 {
		index.Bytes = 4
	}
	for _, part := range []struct {
		name string
		ids  iter.Seq2[int, error]
		to   *[]shardEntry
	}{{"train", train, &index.Train}, {"val", val, &index.Val}} {
		next, stop := iter.Pull2(part.ids)
		defer stop()
		for {
			e, err := writeShard(dir, fmt.Sprintf("%s-%05d.bin", part.name, len(*part.to)), index, perShard, next)
			if err != nil {
				return err
			}
			if e.Tokens > 0 {
				*part.to = append(*part.to, e)
			}
			if e.Tokens < perShard {
				break
			}
		}
	}
	data, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return errors.WithStack(err)
	}
	if len(data) >= maxIndex {
		return errors.Errorf("%s: got %d bytes, want fewer than %d: put more tokens into each shard",
			ShardsFile, len(data), maxIndex)
	}
	return errors.WithStack(file.Replace(filepath.Join(dir, ShardsFile), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	}))
}

// writeShard writes the next ids, at most perShard, into a new file. If no ids are left, it leaves no file.
func writeShard(
	dir, name string, index shardIndex, perShard int, next func() (int, error, bool),
) (e shardEntry, err error) {
	path := filepath.Join(dir, name)
	f, err := file.Create(path)
	if err != nil {
		return e, errors.WithStack(err)
	}
	defer f.Close()
	sum, buffer := sha256.New(), bufio.NewWriter(f)
	w, data := io.MultiWriter(sum, buffer), make([]byte, 4)
	for e.File = name; e.Tokens < perShard; e.Tokens++ {
		id, err, more := next()
		if err != nil {
			return e, err
		}
		if !more {
			break
		}
		if id < 0 || id >= index.VocabSize {
			return e, errors.Errorf("%s: token %d is %d, want 0 … %d", name, e.Tokens, id, index.VocabSize-1)
		}
		binary.LittleEndian.PutUint32(data, uint32(id))
		if _, err := w.Write(data[:index.Bytes]); err != nil {
			return e, errors.WithStack(err)
		}
	}
	e.SHA256 = hex.EncodeToString(sum.Sum(nil))
	if e.Tokens == 0 {
		return e, errors.WithStack(os.Remove(path))
	}
	if err := buffer.Flush(); err != nil {
		return e, errors.WithStack(err)
	}
	if err := f.Sync(); err != nil {
		return e, errors.WithStack(err)
	}
	return e, errors.WithStack(f.Close())
}
