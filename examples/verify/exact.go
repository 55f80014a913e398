package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/inventory"
)

// The random points of the exact road. All points of a Case at a shape have the same real numbers, and so the same
// maxima and masks: another shape tries more than another point.
const (
	shapesDrawn = 50
	drawsOfCase = 4    // at each shape
	modelsDrawn = 1000 // whole models, each of other parts and sizes, with a point each
	modelsOfRow = 100
)

// drawing is a row of the table of the exact road.
type drawing struct {
	id, name string
	draw     func() (verify.Exact, error)
	result   verify.Exact
	vain     int // points at which a layer has no derivative, which were drawn again
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
	for from := 0; from < models; from += modelsOfRow {
		n := min(modelsOfRow, models-from)
		d := &drawing{name: fmt.Sprintf("whole models of random parts, %d to %d", from+1, from+n)}
		d.draw = func() (r verify.Exact, err error) {
			r, d.vain, err = exactModels(ctx, n, uint64(from))
			return r, err
		}
		list = append(list, d)
	}
	start := time.Now()
	drawAll(ctx, progress, list)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "id\tlayer\tpoints\texact\tseconds\tmissed with a probability below")
	total, vain := verify.Exact{Bound: math.Inf(-1)}, 0
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
		total, vain = sum(total, d.result), vain+d.vain
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d cases at %d shapes and %d whole models, %d points in %.0f s: %d entries differ;\n"+
		"each point misses a wrong gradient with a probability below 2^%.0f;\n"+
		"%d points were drawn again, because a layer has no derivative there\n",
		cases, len(shapes), models, total.Draws, time.Since(start).Seconds(), total.Differing, math.Ceil(total.Bound),
		vain)
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
