package verdict

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// Report has the answers, and the numbers from which they follow. Its JSON is the certificate of a verdict.
type Report struct {
	Idea    string   `json:"idea"`
	Set     []string `json:"set,omitempty"`
	Version string   `json:"version,omitempty"` // of the user's code
	Minutes float64  `json:"minutes"`

	Answers  []Answer `json:"answers"`
	NotTried []string `json:"not_tried"`

	Checks []Check    `json:"checks"`
	Costs  []Cost     `json:"costs"`
	Tasks  []Accuracy `json:"tasks"`
	Losses []Loss     `json:"losses"`
	Growth []Growth   `json:"growth"`

	Plan       Plan   `json:"plan"`
	Text       string `json:"text"`
	TextSHA256 string `json:"text_sha256"`
	Trials     int    `json:"trials"`
	SHA256     string `json:"sha256"` // lab.SHA256 of the trials, which another run repeats
	Source     string `json:"source"` // certificate.Source
	Build      string `json:"build"`

	keys []string // of the trials
}

// Answer is the answer to a question.
type Answer struct {
	Question string `json:"question"`
	Verdict  string `json:"verdict"` // such as "better" or "not told apart"
	Sentence string `json:"sentence"`
}

// The files of an idea.
const (
	reportFile      = "report.md"
	pageFile        = "page.html"
	certificateFile = "verdict.json"
)

// most is the size in bytes of the largest certificate that is read.
const most = 16 << 20

// leave writes down what was not asked.
func (r *Report) leave(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(r.NotTried, s) {
		r.NotTried = append(r.NotTried, s)
	}
}

// Read returns the report on an idea from the directory of its Protocol, with its answers.
func Read(dir, idea string) (*Report, error) {
	path := filepath.Join(Folder(dir, idea), certificateFile)
	data, err := file.Read(path, most)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	if err := field.Unmarshal(data, r); err != nil {
		return nil, errors.Wrap(err, path)
	}
	if len(r.Answers) == 0 {
		return nil, errors.Wrapf(fs.ErrNotExist, "%s: the verdict is not finished", path)
	}
	r.answer()
	return r, nil
}

// recall reads what was measured and planned before, if anything.
func (j *judge) recall() error {
	path := filepath.Join(Folder(j.Dir, j.idea.Name), certificateFile)
	data, err := file.Read(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var was Report
	if err := field.Unmarshal(data, &was); err != nil {
		return errors.Wrap(err, path)
	}
	if was.Minutes != j.Report.Minutes || was.TextSHA256 != j.TextSHA256 || was.Version != j.Version ||
		!slices.Equal(was.Set, j.Set) {
		return errors.Errorf("%s holds a verdict on another question: minutes %v, text %.12s, version %q, set %q; "+
			"want %v, %.12s, %q, %q, or another directory", path, was.Minutes, was.TextSHA256, was.Version, was.Set,
			j.Report.Minutes, j.TextSHA256, j.Version, j.Set)
	}
	if n := j.Report.Plan.Steps; n > 0 && was.Plan.Steps > 0 && n != was.Plan.Steps {
		return errors.Errorf("steps: got %d, but %s has trials of %d; another directory has room for them", n, j.Dir,
			was.Plan.Steps)
	}
	j.Report.Plan, j.Costs = was.Plan, was.Costs
	return nil
}

// keep writes the report.
func (j *judge) keep() error {
	if err := j.seal(); err != nil {
		return err
	}
	dir := Folder(j.Dir, j.idea.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(j.Report, "", "\t")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{certificateFile, func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err }},
		{reportFile, j.writeMarkdown},
		{pageFile, j.writePage},
	} {
		if err := file.Replace(filepath.Join(dir, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// seal computes the hash of the trials.
func (j *judge) seal() (err error) {
	j.Build = train.ThisBuild().String()
	if j.Source, err = certificate.Source(); err != nil || len(j.keys) == 0 {
		return err
	}
	all, err := lab.Results(j.Dir)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(f lab.Finished) bool { return !slices.Contains(j.keys, f.Key) })
	if j.Trials = len(all); j.Trials != len(j.keys) {
		return errors.Errorf("%s has %d of the %d trials of this verdict", j.Dir, j.Trials, len(j.keys))
	}
	j.SHA256, err = lab.SHA256(all)
	return err
}
