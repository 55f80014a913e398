package search_test

import (
	"context"
	"fmt"
	"math"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// table is a language of three letters and texts of two; the second letter depends on the first.
type table struct {
	beams int
	first []int // letter of every hypothesis
	steps int
}

const end, a = 0, 1 // ids

func (t *table) Sources() int        { return 1 }
func (t *table) Beams() int          { return t.beams }
func (t *table) Fork(from, to int)   { t.first[to] = t.first[from] }
func (t *table) Ends(token int) bool { return token == end }

func (t *table) Step(tokens []int) (graph.Tensor, error) {
	logits := graph.Tensor{Shape: []int{t.beams, a + 3}, F64: make([]float64, t.beams*(a+3))}
	for i := range t.beams {
		p := []float64{.5, .4, .1} // a, b, c
		switch t.steps {
		case 1:
			t.first[i] = tokens[i]
			p = []float64{.4, .3, .3} // after a
			if tokens[i] == a+1 {
				p = []float64{.9, .05, .05} // after b
			}
		case 2:
			p = []float64{0, 0, 0}
		}
		row := logits.Row(i)
		for id := range a {
			row.Set(id, -1e9)
		}
		for j, p := range p {
			row.Set(a+j, math.Log(p+1e-300))
		}
		if t.steps == 2 {
			row.Set(end, 0)
		}
	}
	t.steps++
	return logits, nil
}

// The likeliest first letter is a, but the likeliest text begins with b.
func ExampleBeam() {
	show := func(name string, h search.Hypothesis) {
		letters := ""
		for _, id := range h.Tokens {
			letters += string("abc"[id-a])
		}
		fmt.Printf("%-8s %s p = %.2f\n", name, letters, math.Exp(h.LogProb))
	}
	ctx := context.Background()
	greedy, err := search.Greedy(ctx, &table{beams: 1, first: make([]int, 1)}, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	show("greedy", greedy[0])
	beam, err := search.Beam(ctx, &table{beams: 2, first: make([]int, 2)}, 3, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range beam[0] {
		show("2 beams", h)
	}
	// Output:
	// greedy   aa p = 0.20
	// 2 beams  ba p = 0.36
	// 2 beams  aa p = 0.20
}
