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

// stampFile is the file of a checkpoint that says which text the run is on.
const stampFile = "corpus.json"

// stamp is a text's name and hash.
type stamp struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Stamp returns the file of a checkpoint that says which text the run is on.
func (s Source) Stamp(c text.Corpus) checkpoint.File {
	return checkpoint.File{Name: stampFile, Write: func(w io.Writer) error {
		return json.NewEncoder(w).Encode(stamp{s.Name, c.SHA256()})
	}}
}

// stampOf is what a checkpoint says: no name, if it is of an earlier version.
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

// Of opens the text that the run of a checkpoint is on: the stand-in, if it began on that for want of another, or what
// Open finds at the path that At says.
func Of(ctx context.Context, cp *checkpoint.Checkpoint, stderr io.Writer) (Source, error) {
	if stampOf(cp).Name == standinName {
		s := standin(nil)
		s.Note = "the run began on the built-in stand-in and goes on with it"
		fmt.Fprintln(stderr, s.Note)
		return s, nil
	}
	path := At(cp)
	s, err := Open(ctx, path, stderr)
	if path != "" {
		err = errors.WithMessagef(err, "the run is on %.80q; if that is elsewhere now, -data says where", path)
	}
	return s, err
}

// At returns the path of the text that the run of a checkpoint is on; empty of one that has none, and where the
// checkpoint does not say it.
func At(cp *checkpoint.Checkpoint) string {
	s := stampOf(cp)
	if s.Name == standinName || s.Name == downloadName && s.SHA256 == tinyshakespeare().sha256 {
		return ""
	}
	return s.Name
}

// Same returns an error that names both texts, if one by that name and hash is not the one that the run of a checkpoint
// is on.
func Same(name, sha256 string, cp *checkpoint.Checkpoint) error {
	was := stampOf(cp)
	if was.SHA256 == "" || was.SHA256 == sha256 {
		return nil
	}
	if was.Name == "" {
		was.Name = "a text that the checkpoint does not name"
	}
	return errors.Errorf("another text: the run is on %.80q (sha256 %.8s…), this is %.80q (sha256 %.8s…); "+
		"-data says where the run's is", was.Name, was.SHA256, name, sha256)
}
