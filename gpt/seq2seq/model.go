package seq2seq

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pkg/errors"
)

// Model is an encoder–decoder on batches of B pairs (Conti chapter 1, CS 224n section 3.7). The blocks of the decoder
// all look at the final output of the encoder.
type Model struct {
	Config  Config // resolved
	Graph   *graph.Graph
	Source  graph.Expr // (B·S) ids
	Input   graph.Expr // (B·T) ids: Begin and the target, which the decoder reads
	Targets graph.Expr // (B·T) ids: the target and End, text.Ignore in the padding
	Logits  graph.Expr // (B·T, V)
	Loss    graph.Expr // the mean cross entropy −log p in nats (errata C16) over the targets that count (errata D6)

	encoder encoder
	memory  *nn.Memory
}

// New builds the model on an empty Graph for batches of that many pairs. It is an error, naming the field, if the
// Config is impossible; nothing is allocated then.
func New(g *graph.Graph, c Config, batch int) (*Model, error) {
	if err := c.ValidateModel(); err != nil {
		return nil, err
	}
	m := c.Resolved().declare(g, batch)
	return m, errors.Wrap(g.Err(), "seq2seq")
}

// declare builds the model; c is resolved.
func (c Config) declare(g *graph.Graph, batch int) *Model {
	s := g.Root()
	m := &Model{
		Config:  c,
		Graph:   g,
		Source:  s.Ints("source", batch*c.SourceSize, c.SourceVocab, 0),
		Input:   s.Ints("input", batch*c.TargetSize, c.TargetVocab, 0),
		Targets: s.Ints("targets", batch*c.TargetSize, c.TargetVocab, text.Ignore),
		encoder: newEncoder(s.Sub("encoder"), c, batch),
	}
	z := m.encoder.forward(m.Source) // (B·S, d)
	at := s.Sub("decoder")
	m.memory = nn.NewMemory(at.Sub("memory"), z, batch, c.TargetSize, c.SourceSize, m.encoder.lengths)
	d := newDecoder(at, c, batch, m.memory, placed(at, batch, c.TargetSize), nil)
	m.Logits = d.forward(m.Input) // (B·T, V)
	m.Loss = nn.NewCrossEntropy(s.Sub("loss")).Forward(m.Logits, m.Targets)
	return m
}

// Params lists the parameters, those of the encoder first.
func (m *Model) Params() []graph.Expr { return m.Graph.Params() }

// placed is the positions 0 … size−1 of every sequence.
func placed(s graph.Scope, batch, size int) graph.Expr {
	p := s.Ints("positions", batch*size, size, 0)
	for i := range p.Ints() {
		p.Ints()[i] = i % size
	}
	return p
}

// embedding is how either side begins.
type embedding struct {
	wte   *nn.Embedding
	place nn.Layer // nil where positions are not added
	drop  *nn.Dropout
}

func newEmbedding(at *nn.Site, c Config, vocabulary int) embedding {
	e := embedding{wte: nn.NewEmbedding(at.Sub("wte"), vocabulary, c.NEmbd)}
	p := parts.Find(c.known().Positions, c.Position).New(*at, c.Stack)
	e.place, at.Rotary, at.Scores = p.Layer, p.Rotary, p.Scores
	e.drop = nn.NewDropout(at.At("drop"))
	return e
}

func (e embedding) forward(tokens graph.Expr) graph.Expr { // (n) → (n, d)
	x := e.wte.Forward(tokens)
	if e.place != nil {
		x = e.place.Forward(x)
	}
	return e.drop.Forward(x)
}

// encoder is a stack of blocks without a causal mask: every token of a source sees all of them, or those that the
// attention lets it see, but no padding.
type encoder struct {
	embedding
	blocks  []nn.Layer
	norm    nn.Layer // nil after post-norm blocks, whose result is normalised
	lengths []int    // of the sources
	mask    *nn.Mask
}

func newEncoder(s graph.Scope, c Config, batch int) encoder {
	at := c.Site(c.known(), batch, c.SourceSize)
	at.Scope = s
	at.Positions = placed(s, batch, c.SourceSize)
	e := encoder{embedding: newEmbedding(&at, c, c.SourceVocab), lengths: make([]int, batch)}
	for b := range e.lengths {
		e.lengths[b] = c.SourceSize
	}
	kind := c.attention()
	e.mask = nn.NewBiasedMask(s, at.Dims, kind.sees(c.Stack, e.lengths), at.Scores)
	at.Mask = e.mask
	block, attention := c.block(), kind.New(at, c.Stack)
	for i := range c.NLayer {
		at := at.At(fmt.Sprintf("h.%d", i))
		at.Block = i
		e.blocks = append(e.blocks, block.New(at, attention))
	}
	if block.Final {
		e.norm = at.Norm(at.At("ln_f"))
	}
	return e
}

func (e encoder) forward(tokens graph.Expr) graph.Expr { // (B·S) → (B·S, d)
	x := e.embedding.forward(tokens)
	for _, b := range e.blocks {
		x = b.Forward(x)
	}
	if e.norm != nil {
		x = e.norm.Forward(x)
	}
	return x
}
