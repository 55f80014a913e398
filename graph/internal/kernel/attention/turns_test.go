package attention

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// TestTurnsGiveTheSameBits: blocks of keys that take turns give the same gradients as consecutive blocks, for hidden,
// scattered, dropped and shared keys.
func TestTurnsGiveTheSameBits(t *testing.T) {
	last := func(n, _, _, i, j int) float64 { return hideIf(j > i || i-j > 40 && j < n-3) }
	all := append(append([]masking{{"last keys", false, false, last}}, maskings...), sparse...)
	for i, m := range all {
		for _, h := range []Shape{
			self(1, 291, 1, 5, 7), self(1, 261, 6, 3, 2).in(3).capped(), shape(1, 70, 260, 2, 4, 3, 1),
		} {
			if os.Getenv("NIGHTLY") == "" && i%3 != h.Heads%3 {
				continue
			}
			const threads = 5
			if h.inTurns(1) || !h.inTurns(threads) {
				t.Fatalf(
					"%+v takes turns: on one thread %v, on %d %v, want false and true", h, h.inTurns(1), threads,
					h.inTurns(threads),
				)
			}
			rng, mask, drop := rand.New(rand.NewPCG(1, 2)), m.mask(h), kernel.DropMask{P: 0.3 * float64(i%2), Key: 7}
			x := kerneltest.Random[float64](rng, h.numbers())
			dy := kerneltest.Random[float64](rng, h.Batch*h.Queries*h.Heads*h.V)
			_, want := runAttention[float32](kernel.NewPool(1), h, x, mask, dy, drop)
			if _, got := runAttention[float32](
				kernel.NewPool(threads), h, x, mask, dy, drop,
			); !kerneltest.SameBits(got, want) {
				t.Errorf("%s, %+v: other bits", m.name, h)
			}
			if i%4 > 0 {
				continue
			}
			_, wide := runAttention[float64](kernel.NewPool(1), h, x, mask, dy, drop)
			if _, got := runAttention[float64](
				kernel.NewPool(threads), h, x, mask, dy, drop,
			); !kerneltest.SameBits(got, wide) {
				t.Errorf("%s, %+v, float64: other bits", m.name, h)
			}
		}
	}
}

// TestTurnsEndInAPanic: after the panic of a task the others end, and the panic is passed on.
func TestTurnsEndInAPanic(t *testing.T) {
	h, p := self(1, 291, 1, 5, 7), kernel.NewPool(3)
	y, x := make([]float32, h.Queries*h.V), make([]float32, h.numbers())
	mask := Mask[float32]{kerneltest.Rounded[float32](causal.mask(h).Data), 1, 1, nil}
	f := &Flash[float32]{
		h, gemm.Exact[float32]{}, &Spans{}, Packed(h, x), mask, make([]float32, 2*h.Queries),
		make([]float32, FlashScratch(p, h)), kernel.DropMask{}, nil, nil, nil,
	}
	f.Forward(p, y)
	f.In.Q.Data = x[:len(x)-h.Width()] // every block of keys lacks the last query
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f.Backward(p, Packed(h, make([]float32, len(x))), y, y)
}

// TestThreadsHaveNoTurnToWaitFor: by the time that its tiles take, for one sequence under GPT-2's mask no thread of
// many has much less work than the others.
func TestThreadsHaveNoTurnToWaitFor(t *testing.T) {
	h := self(1, 1024, 12, 1, 1)
	var s Spans
	readMask(kernel.NewPool(1), h, &s, causal.mask(h))
	for threads, most := range map[int]float64{2: 0.01, 8: 0.05, 16: 0.15, 64: 0.3} {
		idle := idleOf(h, s.lanes[0][0].keys, threads)
		groups := 1 - float64(h.Groups)/float64((h.Groups+threads-1)/threads*threads)
		t.Logf("%d threads: %.1f %% idle, %.1f %% with a group of heads as a task", threads, 100*idle, 100*groups)
		if !(idle <= most) {
			t.Errorf("%d threads: %.1f %% idle, want at most %.0f %%", threads, 100*idle, 100*most)
		}
	}
}

// idleOf returns the idle share of the threads' time in a backward pass. A fifth of each product must wait for its
// turn, and a task goes to the thread that is free first.
func idleOf(h Shape, keys []span, threads int) float64 {
	type place struct {
		row  int
		time float64
	}
	free, work := make([]float64, threads), 0.
	left := make([][][]place, h.Groups) // for every block, the time at which it left each row
	for i := range h.Groups * h.blocks() {
		group, block := i%h.Groups, i/h.Groups
		first := 0
		for thread := range free {
			if free[thread] < free[first] {
				first = thread
			}
		}
		if !h.inTurns(threads) {
			first = group % threads
		}
		now, places := free[first], []place(nil)
		for from := keys[block].from; from < keys[block].to; from += backwardQueries {
			to := min(keys[block].to, from+backwardQueries)
			cost := float64(to - from)
			now, work = now+0.8*cost, work+cost
			for row := from + 1; row <= to; row++ {
				for earlier := range left[group] {
					for _, p := range left[group][earlier] {
						if p.row >= min(row, keys[earlier].to) {
							now = max(now, p.time)
							break
						}
					}
				}
				now += 0.2
			}
			places = append(places, place{to, now})
		}
		left[group], free[first] = append(left[group], places), now
	}
	end := 0.
	for _, time := range free {
		end = max(end, time)
	}
	return 1 - work/(float64(threads)*end)
}

// BenchmarkTurns measures a step with one head on two threads, and on one.
func BenchmarkTurns(b *testing.B) {
	for _, heads := range []int{1, 3} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d heads, %d threads", heads, threads), func(b *testing.B) {
				h := self(1, 1024, heads, 64, 64)
				p, rng := kernel.NewPool(threads), rand.New(rand.NewPCG(1, 2))
				mask := Mask[float32]{kerneltest.Rounded[float32](causal.mask(h).Data), 1, 1, nil}
				qkv, dqkv := kerneltest.Random[float32](rng, h.numbers()), make([]float32, h.numbers())
				y, dy := make([]float32, h.Queries*h.Heads*h.V), kerneltest.Random[float32](rng, h.Queries*h.Heads*h.V)
				f := &Flash[float32]{
					h, gemm.Exact[float32]{}, &Spans{}, Packed(h, qkv), mask, make([]float32, 2*h.Queries*heads),
					make([]float32, FlashScratch(p, h)), kernel.DropMask{}, nil, nil, nil,
				}
				f.Forward(p, y)
				for b.Loop() {
					f.Backward(p, Packed(h, dqkv), y, dy)
				}
			})
		}
	}
}
