package graph

// finished is a gradient, and the step of the plan that completes it.
type finished struct {
	wrt  Expr
	grad Tensor
	step int
}

// Watch makes every later Run call f with each expression that p was compiled to differentiate by, and its gradient, as
// soon as that gradient is complete, while the rest of the backward pass is still to come. Run calls f in its own
// goroutine. The function f may read this gradient and the earlier ones. The order of the calls is the same in every
// run; Watch returns it. A nil f ends the calls.
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
