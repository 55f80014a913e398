package inspect

import (
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// BenchmarkTaps measures a step of the Shakespeare model, forward and backward, with and without storing and copying
// all its residual streams: both in turn, the smallest time of each and their ratio.
//
//	go test -run x -bench Taps -benchtime 300x ./gpt/inspect
func BenchmarkTaps(b *testing.B) {
	steps := []func(){shakespeare(b), shakespeare(b, "h.*")}
	least := []time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		for i, step := range steps {
			start := time.Now()
			step()
			least[i] = min(least[i], time.Since(start))
		}
	}
	b.ReportMetric(float64(least[0].Microseconds()), "µs/step")
	b.ReportMetric(float64(least[1].Microseconds()), "µs/tapped")
	b.ReportMetric(float64(least[1])/float64(least[0]), "ratio")
}

// shakespeare returns a step that copies the activations of these patterns.
func shakespeare(b *testing.B, patterns ...string) func() {
	c := gpt.Shakespeare()
	c.VocabSize = 65
	var m *gpt.Model
	var kept []graph.Expr
	var p *graph.Program
	_, err := graph.Build(graph.Float32, 1, func(g *graph.Graph) (err error) {
		c.Configure(g)
		if m, err = gpt.New(g, c, c.BatchSize); err != nil {
			return err
		}
		names, err := g.Places(patterns...)
		if err != nil {
			return err
		}
		kept = kept[:0]
		for _, name := range names {
			x, err := g.Activation(name)
			if err != nil {
				return err
			}
			kept = append(kept, x)
		}
		p, err = graph.CompileWith(m.Loss, kept, m.Params()...)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	for i := range m.Tokens.Ints() {
		m.Tokens.Ints()[i], m.Targets.Ints()[i] = i*i%65, (i+1)*(i+1)%65
	}
	return func() {
		if err := p.Run(); err != nil {
			b.Fatal(err)
		}
		for _, x := range kept {
			p.Kept(x).Clone()
		}
	}
}

// A model with an intervention decodes without an allocation, like any other.
func TestDecoderOfEditsAllocatesNothing(t *testing.T) {
	m := model(t, odd(), true, 1)
	d, err := gpt.NewDecoder(replace(t, m, "h.*.attn.heads", All(m).Head(1).Zero()), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := testing.AllocsPerRun(20, func() {
		if _, err := d.Feed([]int{3}); err != nil {
			t.Error(err)
		}
	})
	if got > 0 {
		t.Errorf("got %v allocations a token, want none", got)
	}
}
