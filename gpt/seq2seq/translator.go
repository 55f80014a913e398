package seq2seq

import (
	"context"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Translator writes the targets of some sources at once. It has separate graphs, which share the model's parameters:
// one reads the sources and projects the keys and values that every block of the decoder will look at; one appends a
// token to every hypothesis, whose earlier keys and values it has kept. The hypotheses of a source are queries of one
// memory, so beams share the encoder's work. It is a Predictor once Read has been called.
type Translator struct {
	config         Config
	sources, beams int

	source  graph.Expr
	encoder encoder
	read    *graph.Program // the projections of all blocks, side by side

	tokens, positions, at graph.Expr
	memory                *nn.Memory
	kept                  []graph.Expr // of every block
	caches                nn.Caches
	write                 *graph.Program
	written               int   // tokens so far
	reading               bool  // there are sources
	failed                error // of a Fork
}

// NewTranslator makes a Translator of m's parameters, as they are when it runs, for a number of sources at once and of
// hypotheses of each.
func NewTranslator(m *Model, sources, beams int) (*Translator, error) {
	if sources < 1 || beams < 1 {
		return nil, errors.Errorf("translator: got %d sources and %d beams, want 1 or more of each", sources, beams)
	}
	t := &Translator{config: m.Config, sources: sources, beams: beams}
	for _, build := range []func(*graph.Graph) error{t.buildReader, t.buildWriter} {
		if _, err := m.Graph.BuildSibling(build); err != nil {
			return nil, errors.Wrap(err, "translator")
		}
	}
	return t, nil
}

// Read takes the sources to translate, at most as many as the Translator has room for, and forgets what was written.
func (t *Translator) Read(sources [][]int) error {
	if len(sources) < 1 || len(sources) > t.sources {
		return errors.Errorf("translator: got %d sources, want 1 … %d", len(sources), t.sources)
	}
	pairs := make([]Pair, t.sources)
	for i := range pairs {
		pairs[i].Source = sources[min(i, len(sources)-1)] // the last fills the rows that are left
	}
	t.reading = false
	if err := t.config.allFit(pairs); err != nil {
		return errors.Wrap(err, "translator")
	}
	if err := fillSources(t.encoder, t.source.Ints(), pairs); err != nil {
		return errors.Wrap(err, "translator")
	}
	if err := t.memory.Update(); err != nil {
		return errors.Wrap(err, "translator")
	}
	if err := t.read.Run(); err != nil {
		return errors.Wrap(err, "translator")
	}
	all, from := t.read.Value(), 0
	for _, kept := range t.kept {
		kv := kept.Tensor()
		copyColumns(kv.F32, all.F32, kv.Shape[0], from)
		copyColumns(kv.F64, all.F64, kv.Shape[0], from)
		from += kv.Shape[1]
	}
	t.caches.Reset()
	t.written, t.reading, t.failed = 0, true, nil
	return nil
}

// copyColumns fills a matrix of that many rows from the columns of a wider one that begin at from.
func copyColumns[T any](to, all []T, rows, from int) {
	width, stride := len(to)/rows, len(all)/rows
	for i := range rows {
		copy(to[i*width:][:width], all[min(len(all), i*stride+from):])
	}
}

// Sources is the number of texts that are written at once.
func (t *Translator) Sources() int { return t.sources }

// Beams is the number of hypotheses of each.
func (t *Translator) Beams() int { return t.beams }

// Step appends a token to every hypothesis and returns the logits (Sources·Beams, V) of what follows. It is an error
// before Read.
func (t *Translator) Step(tokens []int) (graph.Tensor, error) {
	if !t.reading {
		return graph.Tensor{}, errors.Errorf("translator: got 0 sources to translate, want 1 … %d from Read", t.sources)
	}
	if len(tokens) != t.sources*t.beams {
		return graph.Tensor{}, errors.Errorf("translator: got %d tokens, want %d for %d sources and %d beams", len(tokens), t.sources*t.beams, t.sources, t.beams)
	}
	if t.failed != nil {
		return graph.Tensor{}, errors.Wrap(t.failed, "translator")
	}
	copy(t.tokens.Ints(), tokens)
	for i := range t.positions.Ints() {
		t.positions.Ints()[i] = t.written
	}
	t.at.Ints()[0] = t.written
	if err := t.write.Run(); err != nil {
		return graph.Tensor{}, err
	}
	t.written++
	return t.write.Value(), nil
}

// Fork makes hypothesis to a copy of hypothesis from. If there is no such, the next Step says so.
func (t *Translator) Fork(from, to int) {
	if err := t.caches.Fork(from, to); err != nil && t.failed == nil {
		t.failed = err
	}
}

// Greedy translates any number of sources, target_size tokens at most with End.
func (t *Translator) Greedy(ctx context.Context, sources [][]int) ([]Hypothesis, error) {
	return inBatches(t, sources, func() ([]Hypothesis, error) { return Greedy(ctx, t, t.config.TargetSize) })
}

// Beam translates any number of sources and returns the hypotheses of each, best first; see the function Beam.
func (t *Translator) Beam(ctx context.Context, sources [][]int, rank Rank) ([][]Hypothesis, error) {
	return inBatches(t, sources, func() ([][]Hypothesis, error) { return Beam(ctx, t, t.config.TargetSize, rank) })
}

func inBatches[T any](t *Translator, sources [][]int, search func() ([]T, error)) (all []T, err error) {
	for from := 0; from < len(sources); from += t.sources {
		part := sources[from:min(from+t.sources, len(sources))]
		if err := t.Read(part); err != nil {
			return all, err
		}
		found, err := search()
		if err != nil {
			return all, err
		}
		all = append(all, found[:len(part)]...)
	}
	return all, nil
}
