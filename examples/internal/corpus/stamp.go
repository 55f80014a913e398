package corpus

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// stampFile is the file of a checkpoint that says which text the run is on.
const stampFile = "corpus.json"

// stamp is a text's name and hash.
type stamp struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Stamp is the file of a checkpoint that says which text the run is on.
func (s Source) Stamp(c text.Corpus) checkpoint.File {
	return checkpoint.File{Name: stampFile, Write: func(w io.Writer) error {
		return json.NewEncoder(w).Encode(stamp{s.Name, c.SHA256()})
	}}
}

// stampOf is what a checkpoint says; nothing, if it is of an earlier version or of no run.
func stampOf(cp *checkpoint.Checkpoint) (s stamp) {
	if cp == nil {
		return s
	}
	if data, err := cp.File(stampFile); err == nil && json.Unmarshal(data, &s) != nil {
		return stamp{}
	}
	return s
}

// BeganOnStandin is whether a run that is to be resumed began on the stand-in, for want of the real text. It goes on
// with it.
func BeganOnStandin(cp *checkpoint.Checkpoint) bool { return stampOf(cp).Name == standinName }

// Again is the stand-in of a run that began on it.
func Again(stderr io.Writer) Source {
	s := standin(nil)
	s.Note = "the run began on the built-in stand-in and goes on with it"
	fmt.Fprintln(stderr, s.Note)
	return s
}

// Explain adds the names of both texts to an error of resuming on another one than the checkpoint's.
func (s Source) Explain(err error, c text.Corpus, cp *checkpoint.Checkpoint) error {
	was := stampOf(cp)
	if was.Name == "" || was.SHA256 == c.SHA256() {
		return err
	}
	return errors.WithMessagef(err, "the run is on %.80q, this is %.80q", was.Name, s.Name)
}
