package seq2seq

import (
	"sync"
	"sync/atomic"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Translator writes the targets of some sources at once. It has separate graphs that share the model's parameters: one
// reads the sources and projects the keys and values that every block of the decoder attends to; the other appends a
// token to every hypothesis, whose earlier keys and values it has kept. The hypotheses of a source are queries of one
// memory, so beams share the encoder's work. It is a search.Predictor once Read has been called. Only one goroutine
// can use it at a time; a concurrent call returns an error.
type Translator struct {
	config         Config
	sources, beams int
	graph          *graph.Graph // of the model
	changes        uint64       // number of changes of its weights before the sources were read

	source  graph.Expr
	encoder encoder
	read    *graph.Program // the projections of all blocks, side by side

	tokens, positions, at graph.Expr
	memory                *nn.Memory
	kept                  []graph.Expr // of each block
	caches                nn.Caches
	write                 *graph.Program
	written               int   // number of tokens so far
	reading               bool  // there are sources
	failed                error // of a Fork

	busy        sync.Mutex  // held during each call
	interrupted atomic.Bool // by a concurrent Fork
}

// NewTranslator returns a Translator with m's parameters, as they are when it runs, for a number of sources at once
// and of hypotheses of each.
func NewTranslator(m *Model, sources, beams int) (*Translator, error) {
	if err := checkTranslator(m, sources, beams); err != nil {
		return nil, errors.Wrap(err, "translator")
	}
	t := &Translator{config: m.Config, sources: sources, beams: beams, graph: m.Graph}
	for _, build := range []func(*graph.Graph) error{t.buildReader, t.buildWriter} {
		if _, err := m.Graph.BuildSibling(build); err != nil {
			return nil, errors.Wrap(err, "translator")
		}
	}
	return t, nil
}

// begin locks t for one caller, who must unlock busy.
func (t *Translator) begin() error {
	switch {
	case t == nil || t.write == nil:
		return errors.New("translator: nothing to translate with, want one of NewTranslator")
	case !t.busy.TryLock():
		return errors.New("translator: in use by another goroutine, want one for each")
	}
	return nil
}

// Read sets the sources to translate, at most the given number of sources, and discards what was written.
func (t *Translator) Read(sources [][]int) error {
	if err := t.begin(); err != nil {
		return err
	}
	defer t.busy.Unlock()
	return t.graph.Shared(func(r graph.Reading) error { return t.take(r, sources) })
}

// take does what Read does, for a caller that holds t and the weights.
func (t *Translator) take(r graph.Reading, sources [][]int) error {
	if len(sources) < 1 || len(sources) > t.sources {
		return errors.Errorf("translator: got %d sources, want 1 … %d", len(sources), t.sources)
	}
	pairs := make([]Pair, t.sources)
	for i := range pairs {
		pairs[i].Source = sources[min(i, len(sources)-1)] // the last source fills the remaining rows
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
	if err := r.Run(t.read); err != nil {
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
	t.written, t.reading, t.failed, t.changes = 0, true, nil, r.Changes()
	t.interrupted.Store(false)
	return nil
}

// copyColumns fills a matrix with the given number of rows from the columns of a wider one that begin at from.
func copyColumns[T any](to, all []T, rows, from int) {
	width, stride := len(to)/rows, len(all)/rows
	for i := range rows {
		copy(to[i*width:][:width], all[min(len(all), i*stride+from):])
	}
}
