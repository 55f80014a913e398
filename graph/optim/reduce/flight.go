package reduce

import (
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// flight is the sums that are being sent across the machines while a backward pass runs.
type flight struct {
	p     *graph.Program
	under int          // number of sums that the last micro-batch's gradients are added to
	ready chan *bucket // in the same order on all machines
	done  chan error
}

// depart makes p's next run add its gradients to the sums, and sends each bucket as soon as it is complete.
func (c *Gradients) depart(p *graph.Program) error {
	if c.left != nil { // of a step that was given up
		if err := <-c.left.done; err != nil {
			return errors.Wrap(err, c.name)
		}
		c.left = nil
	}
	f := &flight{p: p, under: c.depth, ready: make(chan *bucket, len(c.buckets)), done: make(chan error, 1)}
	c.flight = f
	if c.depth == 0 {
		c.room()
	}
	go func() {
		var err error
		for b := range f.ready {
			if err == nil {
				err = c.send(b)
			}
		}
		f.done <- err
	}()
	at, missing := 0, len(c.buckets[0].params)
	p.Watch(func(x graph.Expr, grad graph.Tensor) {
		i, ours := c.index[x.Name()]
		if !ours {
			return
		}
		f.add(c, i, grad)
		if missing--; missing > 0 {
			return
		}
		f.ready <- &c.buckets[at] // the buckets follow the order of the backward pass
		if at++; at < len(c.buckets) {
			missing = len(c.buckets[at].params)
		}
	})
	return nil
}

// add adds the gradient of a parameter to the newest sum, that sum to the one before, and so on down to the first. This
// equals what push and total do for all parameters.
func (f *flight) add(c *Gradients, i int, grad graph.Tensor) {
	if f.under == 0 {
		copy(c.sums[0].grads[i].F32, grad.F32)
	}
	for k := f.under - 1; k >= 0; k-- {
		s := c.sums[k].grads[i]
		c.plus(s, grad)
		grad = s
	}
}

// land waits for the sums.
func (c *Gradients) land() error {
	f := c.flight
	c.end()
	c.depth, c.left = 1, nil
	c.batches++
	return <-f.done
}

// end stops sending further buckets.
func (c *Gradients) end() {
	if f := c.flight; f != nil {
		f.p.Watch(nil)
		close(f.ready)
		c.flight, c.left = nil, f
	}
}
