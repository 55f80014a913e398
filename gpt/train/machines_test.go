package train

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Machines end with the bits of one alone: losses, weights, moments, averages and carried states, also if each keeps a
// part of the moments. They share evaluations, unless states are carried, and rank 0 writes what all have.
func TestMachinesSameBits(t *testing.T) {
	for _, carried := range []bool{false, true} {
		do := func(g dist.Group, shard bool) (log []string, err error) {
			var w, x, state, after graph.Expr
			task := Task{
				Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
					s := g.Root()
					w, x = s.Param("w", graph.Normal(1), 6, 5), s.Value("x", graph.Const(0), 2, 6)
					state = s.Value("state", graph.Const(0.5), 2, 5)
					after = x.MatMul(w).Add(state).Tanh()
					return after.Dropout(0.25).Square().SumAll(), g.Params(), g.Err()
				},
				Fill: func(step, micro int) (int, error) {
					for i := range 12 {
						x.Tensor().Set(i, float64((step*5+micro*3+i*i)%7)/7)
					}
					return 2, nil
				},
				Optimizer: adamw,
			}
			if carried {
				task.Carried = func() []Carried { return []Carried{{state, after}} }
			}
			task.Group = g
			training := Training{LearningRate: 0.1, GradientAccumulationSteps: 4, Beta1: .9, Beta2: .99, EMA: 0.5}
			core, err := New(training, Run{Threads: 1, ShardOptimizer: shard}, task)
			if err != nil {
				return nil, err
			}
			for range 3 {
				p, err := core.Step()
				if err != nil {
					return nil, err
				}
				log = append(log, fmt.Sprint(p.Loss, p.Norm, p.Tokens))
			}
			batches := func(yield func(float64, error) bool) {
				for i := range 5 {
					if _, err := task.Fill(9, i); !yield(float64(i+1), err) {
						return
					}
				}
			}
			use := func(losses []float64, mean float64) { log = append(log, fmt.Sprint(losses, mean)) }
			if err := core.Losses(t.Context(), batches, use); err != nil {
				return nil, err
			}
			if err := core.AveragedLosses(t.Context(), batches, use); err != nil {
				return nil, err
			}
			if g != nil && g.Rank() > 0 {
				return log, core.Attend()
			}
			sums := map[string]string{}
			for _, f := range core.Files(3, nil, 0) {
				var b bytes.Buffer
				write := f.Write
				if f.Last != nil { // the last of the list
					write = func(w io.Writer) error { return f.Last(w, sums) }
				}
				if err := write(&b); err != nil {
					return nil, err
				}
				sums[f.Name] = fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
				log = append(log, fmt.Sprintf("%s %x", f.Name, b.Bytes()))
			}
			return log, nil
		}
		want, err := do(nil, false)
		if err != nil || len(want) != map[bool]int{false: 9, true: 10}[carried] {
			t.Fatalf("got %d lines, %v", len(want), err)
		}
		for _, ranks := range []int{2, 4} {
			for _, shard := range []bool{false, true} {
				if err := dist.Run(t.Context(), ranks, func(g dist.Group) error {
					got, err := do(g, shard)
					for i, line := range got {
						if err == nil && line != want[i] {
							err = errors.Errorf("got %s, want %s", line, want[i])
						}
					}
					return err
				}); err != nil {
					t.Errorf("%d ranks, carried %t, sharded %t: %v", ranks, carried, shard, err)
				}
			}
		}
	}
}

// A machine whose numbers have changed is detected at the next comparison, with the tensor's name. One that fails in a
// step, or draws a batch that is not finite, ends the others with its error.
func TestMachinesDrift(t *testing.T) {
	const at = 30
	for want, change := range map[string]func(step int, w graph.Tensor, x *float64){
		"rank 1: step 101: got w ": func(step int, w graph.Tensor, _ *float64) {
			if step == at {
				w.Set(1, w.At(1)+1)
			}
		},
		"rank 1: step 31: micro-batch 3 of 4: the loss is ": func(step int, _ graph.Tensor, x *float64) {
			if step == at {
				*x = 1e30
			}
		},
		"rank 1: step 31: micro-batch 3 of 4: w: entry 0 is NaN": func(step int, w graph.Tensor, _ *float64) {
			if step == at {
				w.Set(0, math.NaN())
			}
		},
	} {
		training := Training{LearningRate: 0.01, GradientAccumulationSteps: 4, Beta1: .9, Beta2: .99, Seed: 1}
		x := make([]float64, 2)
		var cores []*Core
		var weights []*graph.Expr
		for rank := range 2 {
			c, w := descent(t, training, adamw, func(_, micro int) float64 { return float64(micro) + x[rank] })
			cores, weights = append(cores, c), append(weights, w)
		}
		steps := 0
		err := dist.Run(t.Context(), 2, func(g dist.Group) error {
			c := cores[g.Rank()]
			c.Group = g
			for c.Done < 250 {
				if g.Rank() == 1 {
					change(c.Done, weights[1].Tensor(), &x[1])
					steps = c.Done
				}
				if _, err := c.Step(); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v after %d steps, want %q", err, steps, want)
		}
	}
}
