package base

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// The weights of every attention that has any add up to 1, except for sigmoids, and are 0 for later tokens; for an
// attention without weights there is an error.
func TestWeights(t *testing.T) {
	seen := 0
	for _, a := range parts.Attentions() {
		c := gpt.Shakespeare()
		c.Attention, c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.VocabSize = a.String(), 2, 2, 8, 6, 7
		c.Options.Offer("window", 2)
		m, err := gpt.New(graph.New(graph.Float32, 1), c, 3)
		if err != nil {
			t.Logf("%s: %v", a.Name, err)
			continue
		}
		layers, err := Weights(m, []int{3, 1, 4, 1, 5})
		if err != nil {
			if want := `attention "` + a.String() +
				`" in a block "pre" has no weights`; !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", a.Name, err, want)
			}
			continue
		}
		seen++
		for _, l := range layers {
			for h, rho := range l.Heads {
				for i, row := range rho {
					sum := 0.0
					for j, v := range row {
						sum += v
						if !(v >= 0) || j > i && v != 0 || a.Name == "window" && j < i-1 && v != 0 {
							t.Errorf("%s: %s head %d: query %d has weight %v on key %d", a.Name, l.Name, h, i, v, j)
						}
					}
					if !(math.Abs(sum-1) <= 1e-5) && a.Name != "sigmoid" {
						t.Errorf("%s: %s head %d: row %d adds up to %v", a.Name, l.Name, h, i, sum)
					}
				}
			}
		}
	}
	// linear, taylor and recurrences have none, and linformer cannot be built
	if want := len(parts.Attentions()) - 13; seen != want {
		t.Errorf("%d attentions have weights, want %d", seen, want)
	}
}

// A head whose queries are all zero has equal weights: Weights returns the weights of the named head.
func TestWeightsOfHead(t *testing.T) {
	c := gpt.Shakespeare()
	c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.VocabSize = 1, 2, 8, 6, 7
	m, err := gpt.New(graph.New(graph.Float32, 1), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Params() {
		// (8, 24): the queries of head 1 are the columns 4 to 7
		if w := p.Tensor(); p.Name() == "h.0.attn.c_attn.weight" {
			for i := range 8 {
				for j := 4; j < 8; j++ {
					w.Set(i*24+j, 0)
				}
				for j := range 4 {
					w.Set(i*24+j, 3*w.At(i*24+j)+float64(j-i))
				}
			}
		}
	}
	layers, err := Weights(m, []int{3, 1, 4, 1, 5})
	if err != nil {
		t.Fatal(err)
	}
	if got := layers[0].Heads[1][4]; math.Abs(got[0]-0.2) > 1e-6 || math.Abs(got[4]-0.2) > 1e-6 {
		t.Errorf("head 1: got %v, want 0.2 each", got)
	}
	if got := layers[0].Heads[0][4]; math.Abs(got[0]-0.2) < 1e-3 && math.Abs(got[4]-0.2) < 1e-3 {
		t.Errorf("head 0: got %v, want unequal weights", got)
	}
}
