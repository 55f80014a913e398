package graph

// Stock names the operations of the program that are Gorgonia's own, in their order, with their layers: where a model
// of kernels loses time.
func (p *Program) Stock() []string {
	if p == nil {
		return nil
	}
	return p.stock
}

// Value returns the output of the last run; empty before the first, and after one that failed. It is overwritten by the
// next run of any program of the graph.
func (p *Program) Value() Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.value
}

// Loss returns the output of the last run as one number; NaN before the first, and after one that failed.
func (p *Program) Loss() float64 { return p.Value().At(0) }

// Kept is what x was in the last run; empty if CompileWith was not given x, before the first run, and after one that
// failed. It is overwritten by the next run of any program of the graph.
func (p *Program) Kept(x Expr) Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.kept[x.node]
}

// Grad returns the gradient with respect to x in the last run; empty if the Program was not compiled with x, before the
// first run, and after one that failed. It is overwritten by the next run of any program of the graph.
func (p *Program) Grad(x Expr) Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.grads[x.node]
}
