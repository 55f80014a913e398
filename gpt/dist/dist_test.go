package dist

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// vector returns the numbers of a rank, whose sum depends on the order of adding.
func vector(rank, n int) []float32 {
	rng := rand.New(rand.NewPCG(uint64(rank), 9))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// tree returns the sum of the ranks from … to−1 in the order that Sum promises.
func tree(from, to, n int) []float32 {
	if to == from+1 {
		return vector(from, n)
	}
	x, y := tree(from, (from+to)/2, n), tree((from+to)/2, to, n)
	for i := range x {
		x[i] += y[i]
	}
	return x
}

func contains(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %v, want %q", err, part)
		}
	}
}

// Every rank gets the sum of the tree, for few numbers and for more than are exchanged at a time.
func TestSum(t *testing.T) {
	for _, ranks := range []int{1, 2, 4, 8} {
		for _, n := range []int{0, 1, 3, 7, 64, 1001, 2*piece + 3, large + 5} {
			if n > large && ranks > 2 {
				continue // two ranks are enough for two pieces
			}
			want := tree(0, ranks, n)
			err := Run(t.Context(), ranks, func(g Group) error {
				x := vector(g.Rank(), n)
				if err := g.Sum(x); err != nil {
					return err
				}
				if !slices.Equal(x, want) {
					return fmt.Errorf("got another sum of %d numbers", n)
				}
				return g.Barrier()
			})
			if err != nil {
				t.Errorf("%d ranks, %d numbers: %v", ranks, n, err)
			}
		}
	}
}

// Scatter computes a different part of the sum on every rank, for any borders, and Gather joins the parts.
func TestScatter(t *testing.T) {
	for _, ranks := range []int{1, 2, 4, 8} {
		n := 3 * ranks * ranks
		if ranks == 2 {
			n += large // more than are exchanged at a time
		}
		want := tree(0, ranks, n)
		borders := make([]int, ranks+1)
		for i := range borders {
			borders[i] = 3 * i * i
		}
		borders[ranks] = n // much larger than the others
		err := Run(t.Context(), ranks, func(g Group) error {
			x := vector(g.Rank(), n)
			if err := g.Scatter(x, borders); err != nil {
				return err
			}
			from, to := borders[g.Part()], borders[g.Part()+1]
			if !slices.Equal(x[from:to], want[from:to]) {
				return fmt.Errorf("got another part %d", g.Part())
			}
			clear(x[:from])
			clear(x[to:])
			if err := g.Gather(x, borders); err != nil {
				return err
			}
			if !slices.Equal(x, want) {
				return errors.New("got another whole")
			}
			return nil
		})
		if err != nil {
			t.Errorf("%d ranks: %v", ranks, err)
		}
	}
}

// Share works with every rank as root.
func TestShare(t *testing.T) {
	for _, ranks := range []int{1, 2, 8} {
		for root := range ranks {
			err := Run(t.Context(), ranks, func(g Group) error {
				x := vector(g.Rank(), 5)
				if err := g.Share(x, root); err != nil || g.Size() != ranks {
					return errors.Join(err, fmt.Errorf("%d ranks", g.Size()))
				}
				if !slices.Equal(x, vector(root, 5)) {
					return fmt.Errorf("got %v", x)
				}
				return nil
			})
			if err != nil {
				t.Errorf("%d ranks, root %d: %v", ranks, root, err)
			}
		}
	}
}

// No rank passes a barrier before all have called it.
func TestBarrier(t *testing.T) {
	const ranks = 8
	for late := range ranks {
		here := make(chan struct{})
		err := Run(t.Context(), ranks, func(g Group) error {
			if g.Rank() == late {
				close(here)
			}
			if err := g.Barrier(); err != nil {
				return err
			}
			select {
			case <-here:
				return nil
			default:
				return errors.New("passed too early")
			}
		})
		if err != nil {
			t.Errorf("rank %d late: %v", late, err)
		}
	}
}

// A rank that fails, panics, leaves or passes a slice of another size ends all ranks with its error, and so does the
// end of the context.
func TestFailureEndsAll(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	for want, f := range map[string]func() error{
		"rank 3: no room":  func() error { return errors.New("no room") },
		"rank 3: panic: 7": func() error { panic(7) },
		"has left":         func() error { return nil },
		"enough":           func() error { cancel(errors.New("enough")); <-ctx.Done(); return ctx.Err() },
	} {
		contains(t, Run(ctx, 4, func(g Group) error {
			if g.Rank() == 3 {
				return f()
			}
			for {
				if err := g.Barrier(); err != nil {
					return err
				}
			}
		}), want)
		if want == "enough" {
			ctx, cancel = context.WithCancelCause(t.Context())
		}
	}
	cancel(nil)
	contains(
		t, Run(t.Context(), 2, func(g Group) error { return g.Sum(make([]float32, 8+8*g.Rank())) }), "sum: got ",
		"numbers from rank ", ", want ",
	)
	for _, root := range []int{-1, 2} {
		contains(t, Run(t.Context(), 2, func(g Group) error { return g.Share(nil, root) }),
			fmt.Sprintf("share: got rank %d as root, want 0 to 1", root))
	}
}

// placed is a rank of a group, valid or not.
type placed struct {
	Link
	rank, size int
}

func (p placed) Rank() int { return p.rank }
func (p placed) Size() int { return p.size }

// Invalid groups are refused, with the nearest valid sizes.
func TestRefused(t *testing.T) {
	nothing := func(Group) error { return nil }
	contains(t, Run(t.Context(), 0, nothing), "got 0 ranks, want at least 1")
	contains(t, Run(t.Context(), 6, nothing), "got 6 ranks, want a power of two: 4 or 8")
	contains(t, Run(t.Context(), 1<<20, nothing), "want at most 1024")
	contains(t, Run(t.Context(), 2, nil), "nothing to run")
	var none context.Context
	contains(t, Run(none, 2, nothing), "no context")
	_, err := Over(nil, Options{})
	contains(t, err, "no link")
	_, err = Over(placed{size: 2}, Options{Timeout: -1})
	contains(t, err, "timeout: got -1ns, want at least 0")
	_, err = Over(placed{size: 2}, Options{Fast: true})
	contains(t, err, "fast: dist.placed cannot add, want a link of MPI")
	for link, want := range map[Link]string{
		placed{size: -1}:          "got -1 ranks, want at least 1",
		placed{size: 0}:           "got 0 ranks, want at least 1",
		placed{size: 3}:           "got 3 ranks, want a power of two: 2 or 4",
		placed{rank: -1, size: 2}: "got rank -1, want 0 to 1",
		placed{rank: 2, size: 2}:  "got rank 2, want 0 to 1",
	} {
		_, err = Over(link, Options{})
		contains(t, err, want)
	}
	for _, borders := range [][]int{nil, {0, 3}, {0, 1, 2, 3}, {0, 4, 3}, {1, 1, 3}, {-1, 1, 3}, {0, 1, 2}, {0, 1, 4}} {
		contains(t, Run(t.Context(), 2, func(g Group) error { return g.Scatter(make([]float32, 3), borders) }),
			fmt.Sprintf("scatter: got borders %v, want 3 that go from 0 to 3", borders))
		contains(t, Run(t.Context(), 2, func(g Group) error { return g.Gather(make([]float32, 3), borders) }),
			fmt.Sprintf("gather: got borders %v, want 3 that go from 0 to 3", borders))
	}
}

// A group of the largest number of ranks in a process is valid, and so is one whose ranks are done before its context
// ends. The context of the ranks ends with the run.
func TestRunEnds(t *testing.T) {
	if err := Run(t.Context(), maxLocal, func(Group) error { return nil }); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var own context.Context
	err := Run(ctx, 1, func(g Group) error {
		own = g.(*group).Link.(*wire).ctx
		if own.Err() != nil {
			t.Error("the context of the ranks ends before the run")
		}
		return nil
	})
	if err != nil || own.Err() == nil {
		t.Errorf("got %v, context %v, want an ended one", err, own.Err())
	}
	cancel()
	if err := Run(ctx, 1, func(Group) error { return nil }); err != nil {
		t.Errorf("all ranks succeed: got %v", err)
	}
}

// A rank that waits for another gets the reason why the context ends.
func TestContextEndsExchange(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	contains(t, (&wire{newWires(ctx, 2), 0}).Exchange(1, nil, nil), "enough")
}
