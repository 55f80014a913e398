package optim

import "github.com/pedestrian-ml/pedestrian/graph"

// flight is sums on their way over the machines while a backward pass goes on.
type flight struct {
	p     *graph.Program
	under int          // sums that the last micro-batch's gradients are added to
	ready chan *bucket // in an order that all machines have
	done  chan error
}

// depart has what p's next run finishes be added to the sums, and sends a bucket off when all of it is there.
func (c *Gradients) depart(p *graph.Program) error {
	if c.left != nil { // of a step that was given up
		if err := <-c.left.done; err != nil {
			return err
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
		f.ready <- &c.buckets[at] // they are divided in this order
		if at++; at < len(c.buckets) {
			missing = len(c.buckets[at].params)
		}
	})
	return nil
}

// add puts the gradient of a parameter to the newest sum, this to the one before, down to the first: what push and
// total do to all of them.
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

// end has nothing more be sent.
func (c *Gradients) end() {
	if f := c.flight; f != nil {
		f.p.Watch(nil)
		close(f.ready)
		c.flight, c.left = nil, f
	}
}
