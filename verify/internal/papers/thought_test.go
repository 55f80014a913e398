package papers

import (
	"math"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// The hidden thoughts below consist of one token and end with another; no visible token equals either.
const thought, answer = 10, 0

// Section 2.6 of S. Diab: only the visible tokens are graded. The targets of thoughts are ignored, and Δ at their
// logits is exactly 0. Their embedding still learns, but only through the attention of later tokens, because nothing is
// graded at the places of thoughts.
func TestI54ThoughtsAreNotGraded(t *testing.T) {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd, c.Head = 6, 11, 2, 2, 8, "linear"
	for _, f := range forms() {
		m, err := gpt.New(f.graph(1, 0), c, 2)
		if err != nil {
			t.Fatal(err)
		}
		copy(m.Tokens.Ints(), []int{3, thought, thought, answer, 4, 1, 9, 2, thought, thought, thought, answer})
		copy(m.Targets.Ints(), []int{thought, thought, answer, 4, 1, 5, 2, thought, thought, thought, answer, 6})
		for i, target := range m.Targets.Ints() {
			if target == thought || target == answer {
				m.Targets.Ints()[i] = text.Ignore
			}
		}
		for _, p := range m.Params() { // so that the attention is not uniform
			rows, cols := matrixShape(p.Tensor().Shape)
			fill(p, fixture.Random(p.Name(), rows, cols))
		}
		wte := m.Params()[0]
		p, err := graph.Compile(m.Loss, m.Logits, wte)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		for i, target := range m.Targets.Ints() {
			row := p.Grad(m.Logits).Row(i)
			var sum, size float64
			for _, v := range row.Floats() {
				sum, size = sum+v, size+math.Abs(v)
			}
			if (target == text.Ignore) != (size == 0) {
				t.Errorf("%s: target %d at %d, Δ at the logits %v", f.name, target, i, row.Floats())
			}
			if !(math.Abs(sum) <= 1e-7) {
				t.Errorf("%s: Δ at %d sums to %v", f.name, i, sum)
			}
		}
		learns := 0.0
		for _, v := range p.Grad(wte).Row(thought).Floats() {
			learns += v * v
		}
		if learns = math.Sqrt(learns); !(learns > 1e-3) {
			t.Errorf("%s: the embedding of thoughts has a gradient of %v, want one", f.name, learns)
		}
		t.Logf("%s: ‖∂wte[thought]‖ = %.3f", f.name, learns)
	}
}
