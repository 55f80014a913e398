package attention

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
)

// A cache with room for a window and first tokens gives the bits of one with room for all tokens: in pieces longer than
// the window, token by token, for sequences at different positions, after steps back, for copies, and from the
// beginning again. It is bounded, and a position whose keys have gone is known.
func TestRoom(t *testing.T) {
	shapes := []Shape{
		self(3, 700, 2, 5, 3), self(3, 700, 4, 16, 24).in(2).capped(), self(3, 700, 2, 8, 16).in(1).sigmoids(),
	}
	for i, r := range []Room{{1, 0}, {3, 0}, {37, 2}, {16, 0}, {250, 3}, {5, 16}, {64, 17}, {37, 0}} {
		if os.Getenv("NIGHTLY") == "" && i%3 != 2 {
			continue
		}
		h := shapes[i%3]
		t.Run(fmt.Sprintf("%+v, %v, %d groups", r, h.Weights, h.Groups), func(t *testing.T) {
			room[float32](t, h, r)
			if i == 4 {
				room[float64](t, h, r)
			}
		})
	}
}

func room[T kernel.Float](t *testing.T, h Shape, r Room) {
	rng, p := rand.New(rand.NewPCG(3, uint64(r.Window))), kernel.NewPool(2)
	n, width := h.Keys, h.Width()
	mask := Mask[T]{Data: make([]T, n*n), Batch: 1, Heads: 1}
	for i := range n {
		for j := range n {
			if j > i || j <= i-r.Window && j >= r.First {
				mask.Data[i*n+j] = T(math.Inf(-1))
			} else {
				mask.Data[i*n+j] = T(-0.01 * float64((i-j)%7))
			}
		}
	}
	full, some := NewKVCache[T](h, Room{}), NewKVCache[T](h, r)
	step := func(tokens int, at Places) {
		t.Helper()
		rows := at.count(h.Batch)
		qkv := kerneltest.Random[T](rng, rows*tokens*width)
		y, want := make([]T, rows*tokens*h.Heads*h.V), make([]T, rows*tokens*h.Heads*h.V)
		full.Attend(p, want, qkv, mask, at)
		for i := range rows {
			if b, at := at.Of(i); !some.Holds(b, at) {
				t.Fatalf("sequence %d cannot continue at %d", b, at)
			}
		}
		some.Attend(p, y, qkv, mask, at)
		if !kerneltest.SameBits(y, want) {
			t.Fatalf("%d tokens at %v: %v", tokens, at, firstDifference(y, want))
		}
	}
	step(100, Together(0))
	for at := 100; at < 140; at++ {
		step(1, Together(at))
	}
	step(300, Together(140))
	step(33, Places{Rows: []int{2}, At: []int{440}})
	for i := range 150 {
		step(1, Places{Rows: []int{2, 0}, At: []int{473 + i, 440 + i}})
	}
	if !some.Holds(2, 623) || some.Holds(2, 200) {
		t.Errorf("got %t at 623 and %t at 200, want true and false", some.Holds(2, 623), some.Holds(2, 200))
	}
	for _, c := range []*KVCache[T]{full, some} {
		c.Fork(2, 1, 623)
	}
	for i := range 70 {
		step(1, Places{Rows: []int{1, 2}, At: []int{623 + i, 623 + i}})
	}
	step(3, Places{Rows: []int{2, 1}, At: []int{692, 692}}) // again
	step(7, Places{Rows: []int{1}, At: []int{0}})
	step(200, Places{Rows: []int{1}, At: []int{7}})
	if !some.Holds(2, 0) {
		t.Error("a sequence cannot begin again")
	}
	most := r.Keys(n)
	if all := full.Bytes() / full.kept; some.Bytes() != all*most || most >= min(n, r.Window+r.First+110) ||
		full.kept != n {
		t.Errorf(
			"got %d bytes, want room for %d keys of %d bytes; %d are kept without a window", some.Bytes(), most, all,
			full.kept,
		)
	}
	if c := float64(len(some.weights)); c != float64(h.Batch*h.Heads*most) {
		t.Errorf("got room for %v weights", c)
	}
}

// firstDifference describes where two results differ.
func firstDifference[T kernel.Float](got, want []T) error {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("number %d is %v, want %v", i, got[i], want[i])
		}
	}
	return errors.New("zeros of other signs")
}

// Room for a window that is longer than the context, or for all tokens, is the context.
func TestRoomKeys(t *testing.T) {
	for r, want := range map[Room]int{
		{}: 1000, {1000, 0}: 1000, {math.MaxInt, 0}: 1000, {3, 1000}: 1000, {1, 0}: 80, {2, 0}: 96, {17, 1}: 112,
		{900, 20}: 1000, {100, 0}: 192,
	} {
		if got := r.Keys(1000); got != want {
			t.Errorf("%+v: got room for %d keys, want %d", r, got, want)
		}
	}
}
