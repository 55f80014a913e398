package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// name returns the name of a trial for messages.
func (t *Trial) name() string {
	list := []string{t.Text, t.Arm}
	if t.Setting != "" {
		list = append(list, t.Setting)
	}
	return strings.Join(append(list, fmt.Sprint("seed ", t.Seed)), ", ")
}

// Finished is a trial in the directory of a study, whose result Repeat compares with another run of it.
type Finished struct {
	Name   string // of the text, the arm and the seed; empty in records of earlier versions
	Key    string
	Config gpt.Config
	Corpus string // the SHA-256 of the text
	Source string // of the program, certificate.Source
	Build  string // train.Build
	Result Result

	json     json.RawMessage // the identity
	identity struct {
		Config    json.RawMessage   `json:"config"`
		Versions  map[string]string `json:"versions"`
		Seconds   float64           `json:"seconds"`
		Corpus    string            `json:"corpus"`
		Tokenizer string            `json:"tokenizer"`
		Measures  map[string]string `json:"measures"`
		Version   string            `json:"version"`
		Build     string            `json:"build"`
	}
}

// Question returns the name of the study in a directory, and the SHA-256 of its texts by name.
func Question(dir string) (name string, texts map[string]string, err error) {
	path := filepath.Join(dir, studyFile)
	data, err := file.Read(path, maxRecord)
	if err != nil {
		return "", nil, err
	}
	var q question
	if err := field.Unmarshal(data, &q); err != nil {
		return "", nil, errors.Wrap(err, path)
	}
	return q.Name, q.Texts, nil
}

// Results lists the finished trials in the directory of a study, by their keys. A record that was edited or damaged is
// an error.
func Results(dir string) (list []Finished, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, resultsDir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		r, err := readRecord(path)
		if err != nil {
			return nil, err
		}
		f, err := finishedOf(r)
		if err != nil {
			return nil, errors.Wrapf(err, "%s: identity", path)
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		return nil, errors.Wrapf(fs.ErrNotExist, "%s: no results", filepath.Join(dir, resultsDir))
	}
	return list, nil
}

// finishedOf returns the trial of a record. Only the library's parts have a configuration that can be read.
func finishedOf(r record) (f Finished, err error) {
	f = Finished{Name: r.Name, Key: r.Key, Result: r.Result, json: r.Identity}
	if err := field.Unmarshal(r.Identity, &f.identity); err != nil {
		return f, err
	}
	if len(f.identity.Versions) == 0 {
		err = field.Unmarshal(f.identity.Config, &f.Config)
	}
	f.Corpus, f.Source, f.Build = f.identity.Corpus, f.identity.Version, f.identity.Build
	return f, err
}

// SHA256 returns the hash of everything that another run of a study repeats to the bit: the configuration, text and
// tokenizer of every trial with its result, in an order that does not depend on the program. Builds and versions are
// not part of it.
func SHA256(list []Finished) (string, error) {
	var lines []string
	for _, f := range list {
		line, err := repeated(f.json, f.Result)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return hashOf(lines), nil
}

// repeated returns the JSON of a trial without its program.
func repeated(identity json.RawMessage, r Result) (string, error) {
	keys := map[string]json.RawMessage{}
	if err := field.Unmarshal(identity, &keys); err != nil {
		return "", err
	}
	delete(keys, "version")
	delete(keys, "build")
	line, err := json.Marshal([]any{keys, r})
	return string(line), err
}

// hashOf returns the hash of lines in any order.
func hashOf(lines []string) string {
	slices.Sort(lines)
	return sum([]byte(strings.Join(lines, "\n")))
}

// Repeat trains a finished trial again on its text, with the measures of the study by name, and returns an error that
// names the first number of the result that differs in a bit. A trial with code of the user, whose source is in no
// record, cannot be repeated. watch, which is optional, is called after every step.
func (f Finished) Repeat(
	ctx context.Context, t Text, measures []Measure, threads int, watch func(Step),
) (compared []string, err error) {
	switch {
	case ctx == nil:
		return nil, errors.New("repeat: no context (nil)")
	case f.Key == "":
		return nil, errors.New("repeat: got no trial, want one of Results")
	case len(f.identity.Versions) > 0:
		return nil, errors.Errorf("repeat: %s: not covered: it has code with the versions %v, which no record holds",
			f.Name, f.identity.Versions)
	case t.Corpus == nil || t.Tokenizer == nil:
		return nil, errors.Errorf("repeat: text %q: got no corpus or no tokenizer", t.Name)
	case t.Corpus.SHA256() != f.Corpus:
		return nil, errors.Errorf("repeat: text %q: got one of sha256 %s, want %s", t.Name, t.Corpus.SHA256(), f.Corpus)
	}
	tok, err := t.Tokenizer.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if got := sum(tok); got != f.identity.Tokenizer {
		return nil, errors.Errorf("repeat: tokenizer of text %q: got one of sha256 %s, want %s", t.Name, got,
			f.identity.Tokenizer)
	}
	c := f.Config
	c.Run = train.Run{MaxIters: c.MaxIters, EvalInterval: c.EvalInterval, EvalIters: c.EvalIters, LogInterval: 1,
		Threads: threads}
	if f.identity.Seconds > 0 {
		if c, err = lasting(c, float64(f.Result.Steps)); err != nil {
			return nil, err
		}
	}
	t.Measures = slices.DeleteFunc(slices.Concat(measures, t.Measures), func(m Measure) bool {
		return m.Timed || f.identity.Measures[m.Name] != m.Version
	})
	if watch == nil {
		watch = func(Step) {}
	}
	trial := &Trial{Text: t.Name, Arm: f.Name, Seed: c.Seed, Key: f.Key, config: c, text: &t}
	o := &one{study: &Study{every: math.MaxInt64 * time.Nanosecond}, Trial: trial, Steps: c.MaxIters, watch: watch}
	if err := o.again(ctx); err != nil {
		return nil, errors.WithMessagef(err, "repeat: %s", f.Name)
	}
	compared, err = f.Result.diff(trial.Result)
	return compared, errors.WithMessagef(err, "repeat: %s", f.Name)
}

// again trains and measures from the beginning.
func (o *one) again(ctx context.Context) error {
	c := o.config
	c.Context = ctx
	trainer, err := gpt.NewTrainer(c, o.text.Corpus, o.text.Tokenizer)
	if err = o.begin(trainer, err); err == nil {
		err = o.train(ctx)
	}
	if err == nil {
		err = o.certify()
	}
	if err == nil {
		err = o.measure(ctx)
	}
	if errors.Is(err, graph.ErrNotFinite) {
		o.Result.Diverged, err = max(o.at, 1), nil
	}
	o.summarise()
	return err
}

// diff lists what was compared of two results, and returns an error that names the first number that differs.
func (r Result) diff(now Result) (compared []string, err error) {
	for i, p := range r.Curve { // the first differences come first
		if i >= len(now.Curve) || now.Curve[i] != p {
			return compared, errors.Errorf("step %d: got the losses %v, want %v as in the record", p.Step,
				now.Curve[min(i, len(now.Curve)):], p)
		}
	}
	compared = append(compared, fmt.Sprintf("%d evaluations", len(r.Curve)))
	type number struct {
		name      string
		got, want any
	}
	list := []number{
		{"steps", now.Steps, r.Steps}, {"diverged", now.Diverged, r.Diverged}, {"loss", now.Loss, r.Loss},
		{"parameters", now.Parameters, r.Parameters},
	}
	if r.Chain != "" {
		list = append(list, number{"chain", now.Chain, r.Chain})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Measures)) {
		if got, ok := now.Measures[name]; ok {
			list = append(list, number{name, got, r.Measures[name]})
		}
	}
	for _, n := range list {
		if n.got != n.want {
			return compared, errors.Errorf("%s: got %v, want %v as in the record", n.name, n.got, n.want)
		}
		compared = append(compared, n.name)
	}
	return compared, nil
}
