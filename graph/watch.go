package graph

// finished is a gradient, and the step of the plan behind which it is whole.
type finished struct {
	wrt  Expr
	grad Tensor
	step int
}

// Watch has f called, in every later Run, with each of those that p was compiled to differentiate by, and its gradient,
// as soon as that is whole: while the rest of the backward pass is still to come. f is called in the goroutine of Run,
// may read this gradient and those before it, and is shown them in the same order in every run, which is that of the
// list that Watch returns. nil is nobody to be shown them.
func (p *Program) Watch(f func(x Expr, grad Tensor)) (order []Expr) {
	if p == nil || p.plan == nil || !p.graph.running.TryLock() {
		return nil
	}
	defer p.graph.running.Unlock()
	for _, d := range p.done {
		order = append(order, d.wrt)
	}
	if p.plan.After = nil; f == nil {
		return order
	}
	next := 0
	p.plan.After = func(step int) {
		if step == 0 {
			next = 0
		}
		for ; next < len(p.done) && p.done[next].step == step; next++ {
			f(p.done[next].wrt, p.done[next].grad)
		}
	}
	return order
}
