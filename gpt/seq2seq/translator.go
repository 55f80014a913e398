package seq2seq

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Translator writes the targets of some sources at once. It has separate graphs that share the model's parameters: one
// reads the sources and projects the keys and values that every block of the decoder attends to; the other appends a
// token to every hypothesis, whose earlier keys and values it has kept. The hypotheses of a source are queries of one
// memory, so beams share the encoder's work. Only one goroutine can use it at a time; a concurrent call returns an
// error.
type Translator struct {
	config         Config
	sources, beams int
	graph          *graph.Graph // of the model
	busy           sync.Mutex   // held during each call

	source  graph.Expr
	encoder encoder
	read    *graph.Program // the projections of all blocks, side by side

	tokens, positions, at graph.Expr
	memory                *nn.Memory
	kept                  []graph.Expr // of each block
	caches                nn.Caches
	write                 *graph.Program
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

// hypothesisSize is the number of 4-byte numbers that a hypothesis of a search takes without its tokens.
const hypothesisSize = 32

// checkTranslator returns an error before anything is allocated if m or the numbers are invalid.
func checkTranslator(m *Model, sources, beams int) error {
	if err := m.check((*Model).withConfig); err != nil {
		return err
	}
	if sources < 1 || beams < 1 {
		return errors.Errorf("got %d sources and %d beams, want 1 or more of each", sources, beams)
	}
	c := m.Config
	from, to := float64(c.SourceSize), float64(c.TargetSize)
	kept := float64(c.NLayer) * float64(c.NHead) * (float64(c.QKSize) + float64(c.VSize)) // of a token
	source := from*(kept+from+to+c.design().Inside(c.SourceSize)) + to*float64(c.NEmbd)
	beam := to*kept + from + float64(c.TargetVocab) + hypothesisSize
	fields := append(c.networkFields(),
		field.New("sources", &sources, field.Size(1), ""), field.New("beams", &beams, field.Size(1), ""))
	bytes := 4 * float64(sources) * (source + float64(beams)*beam)
	return fields.CheckMemory(m.Graph.MemoryLimit(), bytes, "the keys and values",
		"sources", "beams", "source_size", "target_size", "n_layer", "n_head", "target_vocab")
}

func (t *Translator) buildReader(g *graph.Graph) (err error) {
	g.SetTraining(false)
	c, s := t.config, g.Root()
	t.source = s.Ints("source", t.sources*c.SourceSize, c.SourceVocab, graph.NoneIgnored)
	t.encoder = newEncoder(s.Sub("encoder"), c, t.sources)
	z := t.encoder.forward(t.source)
	at := s.Sub("decoder")
	memory := nn.NewMemory(at.Sub("memory"), z, t.sources, c.TargetSize, c.SourceSize, nil)
	d := newDecoder(at, c, t.sources, memory, parts.Places(at, t.sources, c.TargetSize), nil)
	kv := make([]graph.Expr, len(d.cross))
	for i, layer := range d.cross {
		kv[i] = layer.Projected()
	}
	all := kv[0]
	if len(kv) > 1 {
		all = all.Join(kv[1:]...)
	}
	t.read, err = graph.Compile(all)
	return err
}

func (t *Translator) buildWriter(g *graph.Graph) (err error) {
	g.SetTraining(false)
	c, s := t.config, g.Root().Sub("decoder")
	n := t.sources * t.beams
	t.tokens = s.Ints("tokens", n, c.TargetVocab, graph.NoneIgnored)
	t.positions = s.Ints("positions", n, c.TargetSize, graph.NoneIgnored)
	t.at = s.Ints("at", 1, c.TargetSize, graph.NoneIgnored)
	t.memory = nn.NewMemory(s.Sub("memory"), graph.Expr{}, t.sources, t.beams, c.SourceSize, t.encoder.lengths)
	t.caches, t.kept = nn.Caches{}, nil // of an earlier attempt
	d := newDecoder(s, c, n, t.memory, t.positions, t.caches)
	logits := d.predict(d.Step(t.tokens, t.at))
	for _, layer := range d.cross {
		t.kept = append(t.kept, layer.Kept())
	}
	t.write, err = graph.Compile(logits)
	return err
}

// Greedy translates any number of sources, with at most target_size tokens including End.
func (t *Translator) Greedy(ctx context.Context, sources [][]int) (list []search.Hypothesis, err error) {
	err = t.Search(sources, func(p search.Predictor, n int) error {
		found, err := search.Greedy(ctx, p, t.config.TargetSize)
		list = append(list, found[:min(n, len(found))]...)
		return err
	})
	return list, err
}

// Beam translates any number of sources and returns the hypotheses of each, best first; see search.Beam.
func (t *Translator) Beam(
	ctx context.Context, sources [][]int, rank search.Rank,
) (list [][]search.Hypothesis, err error) {
	err = t.Search(sources, func(p search.Predictor, n int) error {
		found, err := search.Beam(ctx, p, t.config.TargetSize, rank)
		list = append(list, found[:min(n, len(found))]...)
		return err
	})
	return list, err
}

// Search calls find for every batch of the sources, with a Predictor of their targets and the number of the sources;
// further ones of the Predictor repeat the last. Sources that are translated at once use the weights of one moment: a
// Trainer delays its next update until find returns. So find may not run a program of the model or of a sibling, and
// the Predictor must not be used later.
func (t *Translator) Search(sources [][]int, find func(p search.Predictor, sources int) error) error {
	switch {
	case t == nil || t.write == nil:
		return errors.New("translator: nothing to translate with, want one of NewTranslator")
	case find == nil:
		return errors.New("translator: the search is nil")
	case !t.busy.TryLock():
		return errors.New("translator: in use by another goroutine, want one for each")
	}
	defer t.busy.Unlock()
	for part := range slices.Chunk(sources, t.sources) {
		err := t.graph.Shared(func(r graph.Reading) error {
			if err := t.take(r, part); err != nil {
				return errors.Wrap(err, "translator")
			}
			p := &predictor{t: t, weights: r}
			defer func() { p.failed = errors.New("translator: the search has ended") }()
			return find(p, len(part))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// take reads the sources, at most t.sources of them, and forgets what was written.
func (t *Translator) take(r graph.Reading, sources [][]int) error {
	rows, fits := make([][]int, t.sources), t.config.fits()
	for i := range rows {
		rows[i] = sources[min(i, len(sources)-1)]
		if err := fits(i, Pair{Source: rows[i]}); err != nil {
			return err
		}
	}
	if err := t.encoder.fill(t.source.Ints(), rows); err != nil {
		return err
	}
	if err := t.memory.Update(); err != nil {
		return err
	}
	if err := r.Run(t.read); err != nil {
		return err
	}
	all, from := t.read.Value(), 0
	for _, kept := range t.kept {
		kv := kept.Tensor()
		copyColumns(kv.F32, all.F32, kv.Shape[0], from)
		copyColumns(kv.F64, all.F64, kv.Shape[0], from)
		from += kv.Shape[1]
	}
	t.caches.Reset()
	return nil
}

// copyColumns fills a matrix with the given number of rows from the columns of a wider one that begin at first.
func copyColumns[T any](columns, wide []T, rows, first int) {
	width, stride := len(columns)/rows, len(wide)/rows
	for i := range rows {
		copy(columns[i*width:][:width], wide[min(len(wide), i*stride+first):])
	}
}

// predictor is a search.Predictor of the targets of sources that a Translator has taken.
type predictor struct {
	t       *Translator
	weights graph.Reading
	written int   // number of tokens so far
	failed  error // of a Fork
}

func (p *predictor) Sources() int        { return p.t.sources }
func (p *predictor) Beams() int          { return p.t.beams }
func (p *predictor) Ends(token int) bool { return token == End }

// Step appends a token to every hypothesis, or Begin if tokens is nil.
func (p *predictor) Step(tokens []int) (graph.Tensor, error) {
	t := p.t
	if tokens == nil {
		tokens = slices.Repeat([]int{Begin}, t.sources*t.beams)
	}
	switch {
	case p.failed != nil:
		return graph.Tensor{}, errors.Wrap(p.failed, "translator")
	case len(tokens) != t.sources*t.beams:
		return graph.Tensor{}, errors.Errorf("translator: got %d tokens, want %d for %d sources and %d beams",
			len(tokens), t.sources*t.beams, t.sources, t.beams)
	case p.written >= t.config.TargetSize:
		return graph.Tensor{}, errors.Errorf("translator: token %d of a target, target_size is %d",
			p.written+1, t.config.TargetSize)
	}
	copy(t.tokens.Ints(), tokens)
	for i := range t.positions.Ints() {
		t.positions.Ints()[i] = p.written
	}
	t.at.Ints()[0] = p.written
	if err := p.weights.Run(t.write); err != nil {
		return graph.Tensor{}, err
	}
	p.written++
	return search.First(t.write.Value(), cmp.Or(t.config.DrawnTokens, t.config.TargetVocab)), nil
}

// Fork copies a hypothesis. If one of the two does not exist, the next Step returns an error.
func (p *predictor) Fork(from, to int) {
	if err := p.t.caches.Fork(from, to); err != nil && p.failed == nil {
		p.failed = err
	}
}
