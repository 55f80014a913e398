package verify_test

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// The gradients by hand are the ones that Check compares, with equations, and a model without any is an error.
func TestByHandIsWhatCheckCompares(t *testing.T) {
	c := gpt.Shakespeare()
	c.BlockSize, c.VocabSize, c.NLayer, c.NHead, c.NEmbd = 3, 5, 1, 2, 4
	m, err := verify.NewModel(c, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	loss, g, err := m.ByHand()
	if err != nil {
		t.Fatal(err)
	}
	r, err := verify.Check(m)
	if err != nil {
		t.Fatal(err)
	}
	if loss != r.Loss {
		t.Errorf("got loss %v, want %v", loss, r.Loss)
	}
	values, n := g.Parameters(), 0
	for _, p := range values {
		n += len(p.Data)
	}
	if n != m.Count() {
		t.Errorf("got gradients of %d entries, want %d", n, m.Count())
	}
	for _, row := range r.Rows {
		if name := row.Name; !strings.Contains(name, " ") { // not a part of a packed parameter
			sum := 0.0
			for _, x := range values[name].Data {
				sum += x * x
			}
			if got := math.Sqrt(sum); math.Abs(got-row.Norm) > 1e-15*row.Norm {
				t.Errorf("%s: got norm %v, want %v", name, got, row.Norm)
			}
		}
	}
	if _, _, err := (verify.Model{Config: c}).ByHand(); err == nil {
		t.Error("a model without parameters: got no error, want one")
	}
}
