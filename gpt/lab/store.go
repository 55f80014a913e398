package lab

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// The files of a study's directory:
//
//	study.json              the name of the study and its texts
//	results/KEY.json        the record of a trial, complete
//	certificates/KEY.json   the certificate of its steps
//	trials/KEY/             the checkpoints of a trial that is being run, locked by its process
//
// Several processes share the directory: a record is written under another name and renamed, and a trial is run by the
// process that holds its lock.
const (
	studyFile       = "study.json"
	resultsDir      = "results"
	certificatesDir = "certificates"
	trialsDir       = "trials"
)

// record is the content of a file of results.
type record struct {
	Key      string          `json:"key"`
	Name     string          `json:"name,omitempty"` // of the trial, for messages
	Identity json.RawMessage `json:"identity"`       // whose SHA-256 is the key
	Result   Result          `json:"result"`
	Timing   Timing          `json:"timing"`
	SHA256   string          `json:"sha256"` // of this object with an empty sha256
}

// sealed returns the JSON of r with its hash.
func (r record) sealed() ([]byte, error) {
	r.SHA256 = ""
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	r.SHA256 = sum(data)
	return json.MarshalIndent(r, "", "\t")
}

// maxRecord is the size in bytes of the largest file of results that is read.
const maxRecord = 64 << 20

// recall reads the record of t, if there is one. A record that was edited or damaged is an error.
func (s *Study) recall(t *Trial) (found bool, err error) {
	path := s.recordOf(t)
	r, err := readRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if r.Key != t.Key || !bytes.Equal(r.Identity, t.Identity) {
		return false, edited(path, r)
	}
	t.Result, t.Timing = r.Result, r.Timing
	return true, nil
}

// readRecord reads a record. One that was edited or damaged is an error.
func readRecord(path string) (r record, err error) {
	data, err := file.Read(path, maxRecord)
	if err != nil {
		return r, err
	}
	if err := field.Unmarshal(data, &r); err != nil {
		return r, errors.Wrapf(err, "%s: damaged; without the file, the trial runs again", path)
	}
	again, err := r.sealed()
	var identity bytes.Buffer
	err = cmp.Or(err, json.Compact(&identity, r.Identity))
	if err != nil || sum(identity.Bytes()) != r.Key || !bytes.Equal(bytes.TrimSpace(data), again) {
		return r, edited(path, r)
	}
	r.Identity = identity.Bytes()
	return r, nil
}

// edited returns the error for a record whose hash does not fit.
func edited(path string, r record) error {
	return errors.Errorf("%s: edited: its sha256 %.12s is not the hash of its content; without the file, the trial "+
		"runs again", path, r.SHA256)
}

// keep writes the record of t, completely or not at all.
func (s *Study) keep(t *Trial) error {
	data, err := record{Key: t.Key, Name: t.name(), Identity: t.Identity, Result: t.Result, Timing: t.Timing}.sealed()
	if err != nil {
		return err
	}
	return file.Replace(s.recordOf(t), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// clear removes the checkpoints of t, which has a record. Another process that opens the directory meanwhile puts a new
// lock into it; that process then finds the record, and clears the directory again.
func (s *Study) clear(t *Trial) error {
	err := os.RemoveAll(s.trialOf(t))
	if errors.Is(err, fs.ErrExist) { // not empty
		return nil
	}
	return err
}

func (s *Study) recordOf(t *Trial) string { return filepath.Join(s.Dir, resultsDir, t.Key+".json") }
func (s *Study) certificateOf(t *Trial) string {
	return filepath.Join(s.Dir, certificatesDir, t.Key+".json")
}
func (s *Study) trialOf(t *Trial) string { return filepath.Join(s.Dir, trialsDir, t.Key) }

// question identifies the study of a directory.
type question struct {
	Name  string            `json:"name"`
	Texts map[string]string `json:"texts"` // the SHA-256 of each text
}

// claim makes the directory the study's. It is an error if the directory belongs to another study.
func (s *Study) claim() error {
	for _, dir := range []string{resultsDir, certificatesDir, trialsDir} {
		if err := os.MkdirAll(filepath.Join(s.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	path, mine := filepath.Join(s.Dir, studyFile), question{s.Name, map[string]string{}}
	for _, t := range s.Texts {
		mine.Texts[t.Name] = t.Corpus.SHA256()
	}
	write := func(q question) error {
		data, err := json.MarshalIndent(q, "", "\t")
		if err != nil {
			return err
		}
		return file.Replace(path, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err })
	}
	data, err := file.Read(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return write(mine)
	}
	if err != nil {
		return err
	}
	var saved question
	if err := field.Unmarshal(data, &saved); err != nil {
		return errors.Wrap(err, path)
	}
	if saved.Name != s.Name {
		return errors.Errorf("dir: %s holds the study %q, want one for %q", s.Dir, saved.Name, s.Name)
	}
	all := maps.Clone(saved.Texts)
	for name, hash := range mine.Texts {
		if was, ok := saved.Texts[name]; ok && was != hash {
			return errors.Errorf("dir: %s holds the study %q with the text %q of sha256 %.12s, this one has %.12s",
				s.Dir, s.Name, name, was, hash)
		}
		all[name] = hash
	}
	if len(all) == len(saved.Texts) {
		return nil
	}
	return write(question{s.Name, all}) // a study may ask about further texts
}
