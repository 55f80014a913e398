package dist

import (
	"context"
	"slices"
	"sync"

	"github.com/pkg/errors"
)

// wires holds the channels over which goroutines exchange numbers.
type wires struct {
	ctx  context.Context
	way  [][]chan []float32 // indexed by sender and receiver
	left []chan struct{}    // closed when the rank has left
	once []sync.Once
}

func newWires(ctx context.Context, n int) *wires {
	w := &wires{ctx, make([][]chan []float32, n), make([]chan struct{}, n), make([]sync.Once, n)}
	for i := range n {
		w.left[i] = make(chan struct{})
		w.way[i] = make([]chan []float32, n)
		for bit := 1; bit < n; bit *= 2 { // the peers of rank i
			w.way[i][i^bit] = make(chan []float32)
		}
	}
	return w
}

// wire is the Link of one rank.
type wire struct {
	*wires
	rank int
}

func (w *wire) Rank() int { return w.rank }
func (w *wire) Size() int { return len(w.way) }

func (w *wire) Exchange(peer int, send, receive []float32) error {
	out, in := w.way[w.rank][peer], w.way[peer][w.rank]
	copied := slices.Clone(send) // the caller may overwrite send before the peer has read it
	for out != nil || in != nil {
		select {
		case out <- copied:
			out = nil
		case got := <-in:
			if len(got) != len(receive) {
				return errors.Errorf("got %d numbers from rank %d, want %d", len(got), peer, len(receive))
			}
			copy(receive, got)
			in = nil
		case <-w.left[peer]:
			return errors.Errorf("rank %d has left", peer)
		case <-w.ctx.Done():
			return context.Cause(w.ctx)
		}
	}
	return nil
}

func (w *wire) Close() error {
	w.once[w.rank].Do(func() { close(w.left[w.rank]) })
	return nil
}
