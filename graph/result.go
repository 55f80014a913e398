package graph

// Stock returns the names of Gorgonia's own operations in the program, in their order, with their layers: this is where
// a model of kernels loses time.
func (p *Program) Stock() []string {
	if p == nil {
		return nil
	}
	return p.stock
}

// Value returns the output of the last run; empty before the first run, and after a failed one. The next run of any
// program of the graph overwrites it.
func (p *Program) Value() Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.value
}

// Loss returns the output of the last run as one number; NaN before the first run, and after a failed one.
func (p *Program) Loss() float64 { return p.Value().At(0) }

// Kept returns the value of x in the last run. It is empty if CompileWith was not given x, before the first run, and
// after a failed one. The next run of any program of the graph overwrites it.
func (p *Program) Kept(x Expr) Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.kept[x.node]
}

// Grad returns the gradient with respect to x in the last run. It is empty if the Program was not compiled with x,
// before the first run, and after a failed one. The next run of any program of the graph overwrites it.
func (p *Program) Grad(x Expr) Tensor {
	if p == nil || !p.ran {
		return Tensor{}
	}
	return p.grads[x.node]
}
