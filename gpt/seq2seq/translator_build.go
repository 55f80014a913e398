package seq2seq

import (
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

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
	t.caches = nn.Caches{}
	d := newDecoder(s, c, n, t.memory, t.positions, t.caches)
	logits := d.predict(d.Step(t.tokens, t.at))
	t.kept = nil
	for _, layer := range d.cross {
		t.kept = append(t.kept, layer.Kept())
	}
	t.write, err = graph.Compile(logits)
	return err
}
