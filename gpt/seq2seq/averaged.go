package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Averaged returns a model of its own whose trained weights are the averages of EMA, to translate with. It is an error
// if EMA is 0.
func (t *Trainer) Averaged() (*Model, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if t.config.EMA == 0 {
		return nil, errors.New("averaged: ema: got 0, which keeps no averages, want a decay such as 0.999")
	}
	g := graph.New(graph.Float32, t.config.Seed)
	train.Configure(g, t.config.Training, t.config.Run)
	m, err := New(g, t.config, 1)
	if err != nil {
		return nil, errors.WithMessage(err, "averaged")
	}
	g.SetTraining(false)
	return m, errors.WithMessage(train.Overlay(m.Params(), t.Model.Params(), t.Averages()), "averaged")
}

// AveragedFiles returns a checkpoint of the model of Averaged alone, for checkpoint.Dir.Save. LoadModel reads it;
// Resume refuses it, because it has no moments.
func (t *Trainer) AveragedFiles(source, target *Vocabulary) ([]checkpoint.File, error) {
	m, err := t.Averaged()
	if err != nil {
		return nil, err
	}
	if err := t.config.checkVocabularies(source, target); err != nil {
		return nil, errors.Wrap(err, "trainer")
	}
	s, err := train.StateOf(t.Core, stateFormat, t.config.Resolved())
	return []checkpoint.File{
		{Name: train.WeightsFile, Write: m.write},
		{Name: train.StateFile, Write: train.WriteJSON(State{s, source, target})},
	}, err
}
