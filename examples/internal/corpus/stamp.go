package corpus

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// stampFile is the file of a checkpoint that names the text of the run.
const stampFile = "corpus.json"

// stamp is a text's name and hash.
type stamp struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Stamp returns the file of a checkpoint that names the text of the run.
func (s Source) Stamp(c text.Corpus) checkpoint.File {
	return checkpoint.File{Name: stampFile, Write: func(w io.Writer) error {
		return json.NewEncoder(w).Encode(stamp{s.Name, c.SHA256()})
	}}
}

// stampOf returns the stamp of a checkpoint, without a name if it was saved by an earlier version.
func stampOf(cp *checkpoint.Checkpoint) (s stamp) {
	if cp == nil {
		return s
	}
	if data, err := cp.File(stampFile); err == nil && json.Unmarshal(data, &s) != nil {
		s = stamp{}
	}
	var state struct {
		Corpus string `json:"corpus_sha256"`
	}
	if data, err := cp.File(train.StateFile); err == nil && json.Unmarshal(data, &state) == nil {
		s.SHA256 = state.Corpus
	}
	return s
}

// Named opens the text that has the given Name: of a file, tinyshakespeare or the stand-in.
func Named(ctx context.Context, name string, stderr io.Writer) (Source, error) {
	switch name {
	case standinName:
		return standin(nil), nil
	case downloadName:
		name = ""
	}
	return Open(ctx, name, stderr)
}

// Of opens the text of a checkpoint's run: the stand-in if the run began on it, otherwise what Open returns for the
// path that At returns.
func Of(ctx context.Context, cp *checkpoint.Checkpoint, stderr io.Writer) (Source, error) {
	if stampOf(cp).Name == standinName {
		s := standin(nil)
		s.Note = "the run began on the built-in stand-in and continues with it"
		fmt.Fprintln(stderr, s.Note)
		return s, nil
	}
	path := At(cp)
	s, err := Open(ctx, path, stderr)
	if path != "" {
		err = errors.WithMessagef(err, "the run is on %.80q; if it has moved, set -data to its path", path)
	}
	return s, err
}

// At returns the path of the text of a checkpoint's run, or "" if the text has no path or the checkpoint does not name
// it.
func At(cp *checkpoint.Checkpoint) string {
	s := stampOf(cp)
	if s.Name == standinName || s.Name == downloadName && s.SHA256 == tinyshakespeare().sha256 {
		return ""
	}
	return s.Name
}

// Same returns an error that names both texts if the checkpoint's run had a text of another name or hash.
func Same(name, sha256 string, cp *checkpoint.Checkpoint) error {
	was := stampOf(cp)
	if was.SHA256 == "" || was.SHA256 == sha256 {
		return nil
	}
	if was.Name == "" {
		was.Name = "a text that the checkpoint does not name"
	}
	return errors.Errorf("another text: the run is on %.80q (sha256 %.8s…), this is %.80q (sha256 %.8s…); "+
		"set -data to the path of the run's text", was.Name, was.SHA256, name, sha256)
}
