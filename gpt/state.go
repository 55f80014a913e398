package gpt

import (
	"bytes"
	"encoding/json"
	"io"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// The files of a checkpoint. A program that knows GPT-2's files needs the first two.
const (
	weightsFile   = "model.safetensors"
	configFile    = "config.json" // HuggingFace's names
	optimizerFile = "optimizer.safetensors"
	stateFile     = "state.json"
	tokenizerFile = "tokenizer.json"
)

// state is what a run needs to go on besides the numbers of its tensors.
type state struct {
	Format  int      `json:"format"`
	Step    int      `json:"step"`
	Best    *float64 `json:"best_val_loss"` // null before the first evaluation
	Batches []byte   `json:"batches"`       // the generator that draws them
	Corpus  string   `json:"corpus_sha256"`
	Config  Config   `json:"config"`
	Build   Build    `json:"build"`
}

const stateFormat = 1

// Files is the whole state of the run, for checkpoint.Dir.Save. Weights and moments that are not finite are refused when
// written.
func (t *Trainer) Files() ([]checkpoint.File, error) {
	hf, err := t.config.HuggingFace()
	if err != nil {
		return nil, err
	}
	generator, err := t.source.MarshalBinary()
	if err != nil {
		return nil, errors.Wrap(err, "state")
	}
	s := state{stateFormat, t.Done, nil, generator, t.Corpus.SHA256, t.config, ThisBuild()}
	if !math.IsInf(t.Best, 1) {
		s.Best = &t.Best
	}
	return []checkpoint.File{
		{Name: weightsFile, Write: t.Model.WriteWeights},
		{Name: configFile, Write: raw(hf)},
		{Name: optimizerFile, Write: t.writeMoments},
		{Name: stateFile, Write: indented(s)},
		{Name: tokenizerFile, Write: indented(t.Tokenizer)},
	}, nil
}

func raw(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func indented(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	}
}

func (t *Trainer) writeMoments(w io.Writer) error {
	var list []safetensors.Tensor
	for _, p := range t.moments() {
		if err := p.to.Finite(p.name); err != nil {
			return err
		}
		list = append(list, file(p.name, p.to))
	}
	return safetensors.Write(w, list, nil)
}

// moments are the optimizer's tensors under the names that they have in the file.
func (t *Trainer) moments() (list []place) {
	t.optimizer.Moments(func(name string, m, v graph.Tensor) {
		for _, moment := range []place{{"m." + name, m}, {"v." + name, v}} {
			if moment.to.Len() > 0 {
				list = append(list, moment)
			}
		}
	})
	return list
}

// Resume is NewTrainer in the state that cp holds. The configuration may differ from the saved one only where
// Config.ResumeDiff allows it; another text or vocabulary is an error.
func Resume(c Config, corpus *text.Corpus, tok *text.Tokenizer, cp *checkpoint.Checkpoint) (*Trainer, error) {
	if c.VocabSize == 0 {
		c.VocabSize = tok.Size()
	}
	s, saved, err := readState(cp)
	if err != nil {
		return nil, err
	}
	s.Config.Parts = c.Parts
	if err := c.ResumeDiff(s.Config); err != nil {
		return nil, errors.Wrapf(err, "checkpoint %s", cp.Path)
	}
	if corpus.SHA256 != s.Corpus {
		return nil, errors.Errorf("checkpoint %s: trained on the text with sha256 %s, this one has %s", cp.Path, s.Corpus, corpus.SHA256)
	}
	if !sameVocabulary(saved, tok) {
		return nil, errors.Errorf("checkpoint %s: its vocabulary of %d tokens is not the text's of %d", cp.Path, saved.Size(), tok.Size())
	}
	t, err := NewTrainer(c, corpus, tok)
	if err != nil {
		return nil, err
	}
	return t, errors.Wrapf(t.restore(s, cp), "checkpoint %s", cp.Path)
}

func sameVocabulary(a, b *text.Tokenizer) bool {
	x, err1 := a.MarshalJSON()
	y, err2 := b.MarshalJSON()
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

func readState(cp *checkpoint.Checkpoint) (s state, tok *text.Tokenizer, err error) {
	if err = readJSON(cp, stateFile, &s); err != nil {
		return s, nil, err
	}
	if s.Format != stateFormat {
		return s, nil, errors.Errorf("checkpoint %s: format %d, this program reads %d", cp.Path, s.Format, stateFormat)
	}
	if s.Step != cp.Step {
		return s, nil, errors.Errorf("checkpoint %s: %s says step %d, its directory step %d", cp.Path, stateFile, s.Step, cp.Step)
	}
	tok = new(text.Tokenizer)
	return s, tok, readJSON(cp, tokenizerFile, tok)
}

func readJSON(cp *checkpoint.Checkpoint, name string, v any) error {
	data, err := cp.File(name)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return errors.Wrapf(err, "checkpoint %s: %s", cp.Path, name)
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.Errorf("checkpoint %s: %s: something follows the object's end at byte %d", cp.Path, name, d.InputOffset())
	}
	return nil
}

func (t *Trainer) restore(s state, cp *checkpoint.Checkpoint) error {
	if err := t.Model.readFrom(cp); err != nil {
		return err
	}
	data, err := cp.File(optimizerFile)
	if err != nil {
		return err
	}
	if t.optimizer, err = t.config.NewOptimizer(t.config.known().Optimizers, t.Model.Trainable(), s.Step); err != nil {
		return err
	}
	if err := t.readMoments(data); err != nil {
		return err
	}
	if err := t.source.UnmarshalBinary(s.Batches); err != nil {
		return errors.Wrap(err, stateFile)
	}
	if s.Best != nil {
		t.Best = *s.Best
	}
	t.Done = s.Step
	return nil
}

func (t *Trainer) readMoments(data []byte) error {
	list, _, err := safetensors.Read(data)
	if err != nil {
		return errors.Wrap(err, optimizerFile)
	}
	found := map[string]graph.Tensor{}
	for _, f := range list {
		found[f.Name] = graph.Tensor{Shape: f.Shape, F32: f.F32, F64: f.F64}
	}
	return errors.Wrap(restore(t.moments(), found), optimizerFile)
}
