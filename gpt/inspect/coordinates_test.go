package inspect_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"gonum.org/v1/gonum/stat"
)

// changes returns by how much ten steps of training change the last residual stream, the last scores and the logits, as
// root mean squares.
func changes(t *testing.T, c gpt.Config) (list [3]float64) {
	t.Helper()
	verse := strings.Repeat("The wheel goes round, the water pays no rent, and what I grind by day is spent. ", 9)
	tok, err := text.NewCharacters(verse)
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := text.NewCorpus(verse, tok, c.BlockSize)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := gpt.NewTrainer(c, corpus, tok)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := tok.Encode(verse[:c.BlockSize])
	if err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprintf("h.%d", c.NLayer-1)
	places := []string{last, last + ".attn.scores", "logits"}
	probe, err := inspect.Tap(trainer.Model, places...)
	if err != nil {
		t.Fatal(err)
	}
	before, err := probe.Run(ids)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := trainer.Step(); err != nil {
			t.Fatal(err)
		}
	}
	after, err := probe.Run(ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, place := range places {
		x, err := before.At(place)
		if err != nil {
			t.Fatal(err)
		}
		y, err := after.At(place)
		if err != nil {
			t.Fatal(err)
		}
		sum, n := 0.0, 0.0
		for i, v := range y.Floats() {
			if d := v - x.At(i); !math.IsNaN(d) { // a masked score is −∞ before and after
				sum, n = sum+d*d, n+1
			}
		}
		list[i] = math.Sqrt(sum / n)
	}
	return list
}

// The coordinate check of Yang et al. 2022, appendix D.1: what ten steps change in the activations does not grow with
// the width under mup, nor with the depth if mup has a base depth, and it grows with both otherwise.
func TestCoordinates(t *testing.T) {
	// scores depend on the seed
	widths, depths, seeds, flat, scores := []int{64, 128, 256}, []int{2, 4, 8}, 1, 0.1, 0.35
	if os.Getenv("NIGHTLY") != "" {
		widths, depths, seeds, flat, scores = append(widths, 512, 1024), append(depths, 16, 32), 3, 0.05, 0.1
	}
	all, places := math.Inf(-1), []string{"stream", "scores", "logits"}
	for _, tc := range []struct {
		name      string
		sizes     []int
		set       func(c *gpt.Config, size int)
		low, high [3]float64 // the slopes of the three changes under mup
		grows     [3]float64 // the least slopes otherwise
	}{
		{"width", widths, func(c *gpt.Config, size int) { c.NEmbd = size },
			[3]float64{-flat, -scores, -flat}, [3]float64{flat, scores, flat}, [3]float64{1, 1, 0.2}},
		// scores shrink; the last norm keeps the logits
		{"depth", depths, func(c *gpt.Config, size int) { c.NLayer = size },
			[3]float64{-0.1, all, -0.1}, [3]float64{0.1, scores, 0.1}, [3]float64{0.8, all, all}},
	} {
		for place, s := range slopes(t, tc.sizes, seeds, func(c *gpt.Config, size int) {
			c.Parametrization, c.BaseWidth, c.BaseDepth = "mup", c.NEmbd, c.NLayer
			tc.set(c, size)
		}) {
			if !(tc.low[place] <= s && s <= tc.high[place]) {
				t.Errorf(
					"%s, mup, %s: got a slope of %.3f, want %.2f to %.2f", tc.name, places[place], s, tc.low[place],
					tc.high[place],
				)
			}
		}
		for place, s := range slopes(t, tc.sizes, seeds, tc.set) {
			if !(s >= tc.grows[place]) {
				t.Errorf(
					"%s, standard, %s: got a slope of %.3f, want at least %.2f", tc.name, places[place], s,
					tc.grows[place],
				)
			}
		}
	}
}

// slopes returns how the mean changes over some seeds grow with the size: their slopes in logarithms.
func slopes(t *testing.T, sizes []int, seeds int, set func(c *gpt.Config, size int)) (list [3]float64) {
	t.Helper()
	x, y := make([]float64, len(sizes)), [3][]float64{}
	for i, size := range sizes {
		sums := [3]float64{}
		for seed := range seeds {
			c := gpt.Shakespeare()
			c.BlockSize, c.BatchSize, c.NLayer, c.NHead, c.NEmbd, c.Head = 16, 4, 2, 2, 64, "linear"
			c.LearningRate, c.DecayLR, c.Seed = 3e-3, false, uint64(seed)
			set(&c, size)
			for place, change := range changes(t, c) {
				sums[place] += change
			}
		}
		x[i] = math.Log(float64(size))
		for place, sum := range sums {
			y[place] = append(y[place], math.Log(sum))
		}
	}
	for place := range list {
		_, list[place] = stat.LinearRegression(x, y[place], nil, false)
	}
	t.Logf("slopes %+.3f", list)
	return list
}
