package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// The random points of the exact road.
const (
	shapesDrawn = 20
	drawsOfCase = 100  // at each shape
	modelsDrawn = 1000 // whole models, each of other parts and sizes, with a point each
)

// drawing is a row of the table of the exact road.
type drawing struct {
	id, name string
	draw     func() (verify.Exact, error)
	result   verify.Exact
	took     time.Duration
	err      error
}

// drawnShapes returns the entries at the random shapes of the exact road.
func drawnShapes() (shapes [][]verify.Entry) {
	for seed := range uint64(shapesDrawn) {
		shapes = append(shapes, inventory.Drawn(seed))
	}
	return shapes
}

// exact prints the result of the exact road for every Case with formulas by hand, and for whole models of random parts:
// the number of random points, the entries that differ, the time, and the probability that a wrong gradient is missed
// at one point. It draws the points of a Case at each of the shapes, which have the same entries.
func exact(ctx context.Context, w, progress io.Writer, shapes [][]verify.Entry, draws, models int) error {
	var list []*drawing
	for i, e := range shapes[0] {
		for k, c := range e.Cases {
			seed := uint64(len(list)) << 32
			list = append(list, &drawing{id: e.ID, name: c.Name, draw: func() (verify.Exact, error) {
				total := verify.Exact{Bound: math.Inf(-1)}
				for s, entries := range shapes {
					r, err := entries[i].Cases[k].Exact(draws, seed+uint64(s*draws))
					if err != nil {
						return total, err
					}
					total = sum(total, r)
				}
				return total, nil
			}})
		}
	}
	cases := len(list)
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // the formulas create many small matrices and keep few of them
	if models > 0 {
		list = append(list, &drawing{name: "whole models of random parts", draw: func() (verify.Exact, error) {
			return exactModels(ctx, models)
		}})
	}
	start := time.Now()
	drawAll(ctx, progress, list)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "id\tlayer\tpoints\texact\tseconds\tmissed with a probability below")
	total := verify.Exact{Bound: math.Inf(-1)}
	for _, d := range list {
		if d.err != nil {
			return d.err
		}
		differing := "="
		if d.result.Differing > 0 {
			differing = fmt.Sprint(d.result.Differing)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%.1f\t2^%.0f\n",
			d.id, d.name, d.result.Draws, differing, d.took.Seconds(), math.Ceil(d.result.Bound))
		total = sum(total, d.result)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d cases at %d shapes and %d whole models, %d points in %.0f s: %d entries differ;\n"+
		"each point misses a wrong gradient with a probability below 2^%.0f\n",
		cases, len(shapes), models, total.Draws, time.Since(start).Seconds(), total.Differing, math.Ceil(total.Bound))
	if err == nil && total.Differing > 0 {
		err = errDisagree
	}
	return err
}

// sum returns both results as one.
func sum(a, b verify.Exact) verify.Exact {
	return verify.Exact{
		Draws: a.Draws + b.Draws, Differing: a.Differing + b.Differing, Bound: max(a.Bound, b.Bound),
	}
}

// drawAll computes the results on all processors.
func drawAll(ctx context.Context, progress io.Writer, list []*drawing) {
	bar := program.NewBar(progress, "drawing", 0, len(list))
	defer bar.Close()
	var mutex sync.Mutex
	var done sync.WaitGroup
	next := make(chan *drawing)
	for range runtime.GOMAXPROCS(0) {
		done.Go(func() {
			for d := range next {
				begun := time.Now()
				d.result, d.err = d.draw()
				d.took = time.Since(begun)
				mutex.Lock()
				bar.Add(1, "%s", d.name)
				mutex.Unlock()
			}
		})
	}
	for i := len(list) - 1; i >= 0 && ctx.Err() == nil; i-- { // the models, which take longest, first
		next <- list[i]
	}
	close(next)
	done.Wait()
}

// exactModels draws a point of each of n models with random parts and sizes.
func exactModels(ctx context.Context, n int) (total verify.Exact, err error) {
	random := rand.New(rand.NewPCG(1, 2))
	total.Bound = math.Inf(-1)
	for total.Draws < n && ctx.Err() == nil {
		c := randomParts(random)
		if _, err := gpt.New(graph.Outline(graph.Float32), c, 1); err != nil {
			continue // a part that does not fit, or that no layer uses
		}
		m, err := verify.NewModel(c, 1+random.IntN(2), random.Uint64())
		if err != nil {
			return total, err
		}
		r, err := m.Exact(1, random.Uint64())
		if err != nil {
			return total, fmt.Errorf("%s, %s, %s: %w", c.Attention, c.Position, c.Block, err)
		}
		total = sum(total, r)
	}
	return total, nil
}

// randomParts returns a small model of random parts, which may not be valid.
func randomParts(random *rand.Rand) gpt.Config {
	c := small()
	c.BlockSize, c.VocabSize, c.NLayer = 2+random.IntN(4), 3+random.IntN(5), 1+random.IntN(2)
	c.NHead = 1 + random.IntN(3)
	c.NEmbd, c.QKSize, c.VSize = 2*c.NHead*(1+random.IntN(2)), 2*(1+random.IntN(2)), 1+random.IntN(3)
	c.LogitCap = []float64{0, 0, 30}[random.IntN(3)]
	c.FutureTokens = 1 + max(0, random.IntN(6)-3)
	c.NInner, c.Bias = 2+random.IntN(6), random.IntN(2) == 0
	c.Position, c.Attention = pick(random, parts.Positions()), pick(random, parts.Attentions())
	if c.NLayer == 2 && random.IntN(2) == 0 {
		c.Attention += "," + pick(random, parts.Attentions())
	}
	c.Norm, c.Block, c.MLP = pick(random, parts.Norms()), pick(random, parts.Blocks()), pick(random, parts.MLPs())
	c.QKNorm, c.AttnGate = pick(random, parts.QKNorms()), pick(random, parts.AttnGates())
	c.ValueResidual, c.Skips = pick(random, parts.ValueResiduals()), pick(random, parts.Skips())
	c.AttnSinks, c.ShortConv = pick(random, parts.AttnSinks()), pick(random, parts.ShortConvs())
	c.Activation, c.Head = pick(random, parts.Activations()), pick(random, parts.Heads())
	for name, n := range map[string]int{
		"window": 2, "dilation": 2, "global_tokens": 1, "random_keys": 1, "n_kv_head": 1, "sink_tokens": 1,
	} {
		c.Options.Offer(name, n)
	}
	return c
}

func pick[T fmt.Stringer](random *rand.Rand, list []T) string {
	return list[random.IntN(len(list))].String()
}
