package dist

import (
	"errors"
	"testing"
	"time"
)

var errFault = errors.New("fault")

// faulty is a rank whose peers all hold the same numbers, and whose operation with the number fault fails, counted
// from 1.
type faulty struct {
	rank, size   int
	fault, calls int
	sums, added  int // numbers that Add and Plus got
}

func (f *faulty) Rank() int { return f.rank }
func (f *faulty) Size() int { return f.size }

func (f *faulty) call() error {
	if f.calls++; f.calls == f.fault {
		return errFault
	}
	return nil
}

func (f *faulty) Exchange(_ int, send, receive []float32) error {
	copy(receive, send)
	return f.call()
}

func (f *faulty) Add(x []float32) error {
	f.sums += len(x)
	for i := range x {
		x[i] *= float32(f.size)
	}
	return f.call()
}

func (f *faulty) Plus(x, y []float32) error {
	f.added += len(x)
	for i, v := range y {
		x[i] += v
	}
	return f.call()
}

func (f *faulty) Close() error { return f.call() }

// The error of any operation of a link ends the method that needs it: no operation follows.
func TestFaults(t *testing.T) {
	borders := []int{0, 2, 4, 6, 8}
	methods := map[string]func(Group) error{
		"Sum":     func(g Group) error { return g.Sum(make([]float32, 8)) },
		"Scatter": func(g Group) error { return g.Scatter(make([]float32, 8), borders) },
		"Gather":  func(g Group) error { return g.Gather(make([]float32, 8), borders) },
		"Share":   func(g Group) error { return g.Share(make([]float32, 8), 0) },
		"Barrier": func(g Group) error { return g.Barrier() },
		"Close":   func(g Group) error { return g.Close() },
	}
	for name, method := range methods {
		for _, o := range []Options{{}, {Fast: true}, {Timeout: time.Hour}, {Timeout: time.Hour, Fast: true}} {
			try := func(fault int) (calls int, err error) {
				f := &faulty{size: 4, fault: fault}
				g, err := Over(f, o)
				if err != nil {
					t.Fatal(err)
				}
				err = method(g)
				if name != "Close" {
					f.fault = 0
					defer g.Close()
				}
				return f.calls, err
			}
			n, err := try(0)
			if n == 0 || err != nil {
				t.Fatalf("%s, %+v: got %d operations, %v", name, o, n, err)
			}
			for fault := 1; fault <= n; fault++ {
				if calls, err := try(fault); !errors.Is(err, errFault) || calls != fault {
					t.Errorf("%s, %+v, operation %d: got %v after %d, want %v", name, o, fault, err, calls, errFault)
				}
			}
		}
	}
}

// Fast sums are the engine's, in pieces, for two ranks and more; a link that adds two slices does so for all others.
func TestEngineAdds(t *testing.T) {
	const n = large + 5
	for _, ranks := range []int{2, 4} {
		for _, fast := range []bool{false, true} {
			f := &faulty{size: ranks}
			g, err := Over(f, Options{Fast: fast})
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(1 + i%3)
			}
			if err := g.Sum(x); err != nil {
				t.Fatal(err)
			}
			if (f.sums == n) != fast || (f.added > 0) == fast {
				t.Errorf(
					"%d ranks, fast %v: got %d numbers to add over all ranks and %d to one", ranks, fast, f.sums,
					f.added,
				)
			}
			for i, v := range x {
				if want := float32(ranks * (1 + i%3)); fast && v != want {
					t.Fatalf("%d ranks: x[%d] is %v, want %v", ranks, i, v, want)
				}
			}
			f.sums = 0
			borders := make([]int, ranks+1)
			borders[ranks] = 8
			if err := g.Scatter(x[:8], borders); err != nil || (f.sums == 8) != fast {
				t.Errorf(
					"%d ranks, fast %v: scatter: got %v, %d numbers to add over all ranks", ranks, fast, err, f.sums,
				)
			}
		}
	}
}

// A single rank exchanges nothing, whatever its link can do, and needs no limit of time.
func TestSingle(t *testing.T) {
	for _, timeout := range []time.Duration{0, 1} {
		for _, ranks := range []int{1, 2} {
			link := placed{size: ranks}
			g, err := Over(link, Options{Timeout: timeout, Fast: ranks == 1})
			if err != nil {
				t.Fatal(err)
			}
			if w, limited := g.(*group).Link.(*within); limited != (timeout > 0 && ranks > 1) {
				t.Errorf("%d ranks, timeout %v: limited %v", ranks, timeout, limited)
			} else if limited {
				w.end(ErrTimeout)
			}
			if x := []float32{3}; ranks == 1 && (g.Sum(x) != nil || g.Barrier() != nil || x[0] != 3) {
				t.Errorf("x is %v", x)
			}
		}
	}
}
