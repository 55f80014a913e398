// Package plan runs a list of operations in memory that is laid out in advance: an arena in which two buffers share a
// place if the first is no longer needed when the second begins. It depends on neither Gorgonia nor tensors, only on
// what every operation reads and writes.
package plan

import "github.com/pkg/errors"

// Op is an operation of a program, or a value that exists before the program runs.
type Op struct {
	Name   string
	Rows   int // number of rows of the result
	Inputs []*Op
	Value  Numbers // of an Op without Run

	Out     Buffer   // the result; nil if it lies elsewhere
	Fills   []Buffer // the other buffers it writes: further results, data for its backward operation, scratch
	Uses    []Buffer // the other buffers it reads
	Output  bool     // the result is read after the run
	Forward bool     // belongs to the forward pass
	Place   string   // scope whose results may be dropped and computed again, see turns; "" is none
	Once    bool     // never computed again
	Over    bool     // the result may be written over the first input, which has the same length

	// Run returns the function that computes out from the inputs. It is called once for each turn of the operation.
	Run func(out Numbers, in []Numbers) func() error
}

// Buffer is memory that an operation fills. It is bound to numbers before each operation that writes or uses it.
type Buffer interface {
	Len() int
	Optional() bool // needed only if an operation of the program returns it
	Bind(Numbers)
}

// Numbers is a slice of float32 or of float64.
type Numbers struct {
	F32 []float32
	F64 []float64
}

// Len returns the number of entries.
func (n Numbers) Len() int { return len(n.F32) + len(n.F64) }

func (n Numbers) part(from, to int) Numbers {
	if n.F32 != nil {
		return Numbers{F32: n.F32[from:to:to]}
	}
	return Numbers{F64: n.F64[from:to:to]}
}

// Program is a list of operations whose buffers have their places in memory.
type Program struct {
	// After is called during a run, after every step; optional.
	After func(step int)

	steps   []step
	numbers map[slot]Numbers
	done    map[*Op]int // the step after which an output is complete
}

// step is one turn of an operation, ready to run.
type step struct {
	op    *Op
	again bool // the second turn
	out   Numbers
	bound []binding
	run   func() error
}

// binding is a buffer and the numbers it holds in a step.
type binding struct {
	buffer Buffer
	Numbers
}

// New lays out the memory of ops, which are in the order of execution: inputs come before the operations that read
// them. It returns an error if the arena may not grow to the necessary size.
func New(ops []*Op, a *Arena) (p *Program, err error) {
	list := turns(ops)
	p = &Program{done: map[*Op]int{}}
	if p.numbers, err = a.layout(lives(list, !a.NoAlias)); err != nil {
		return nil, err
	}
	again := map[Buffer]bool{} // computed a second time already
	at := func(b Buffer) Numbers { return p.numbers[slot{b, again[b]}] }
	ran, written := map[*Op]int{}, map[slot]int{} // the last step that did so
	for _, t := range list {
		if t.op.Run == nil {
			continue
		}
		in := make([]Numbers, len(t.op.Inputs))
		for i, c := range t.op.Inputs {
			if in[i] = c.Value; c.Out != nil {
				in[i] = at(c.Out)
			}
		}
		s := step{op: t.op, again: t.again}
		for _, b := range t.op.writes() {
			again[b] = t.again
			s.bound = append(s.bound, binding{b, at(b)})
		}
		for _, b := range t.op.Uses {
			s.bound = append(s.bound, binding{b, at(b)})
		}
		if t.op.Out != nil {
			s.out = at(t.op.Out)
		}
		s.run = t.op.Run(s.out, in)
		for _, b := range t.op.writes() {
			written[slot{b, t.again}] = len(p.steps)
		}
		ran[t.op] = len(p.steps)
		p.steps = append(p.steps, s)
	}
	for _, o := range ops {
		if o.Output {
			p.done[o] = max(ran[o], written[slot{o.Out, false}])
		}
	}
	return p, nil
}

// Result returns the numbers that the op's result holds after a run.
func (p *Program) Result(o *Op) Numbers {
	if o.Out == nil {
		return o.Value
	}
	return p.numbers[slot{o.Out, false}]
}

// Done returns the step after which an output is complete.
func (p *Program) Done(o *Op) int { return p.done[o] }

// Run runs the operations in order. It stops at the first error or panic.
func (p *Program) Run() error {
	for i := range p.steps {
		if err := p.steps[i].do(); err != nil {
			return err
		}
		if p.After != nil {
			p.After(i)
		}
	}
	return nil
}

// Forward runs the operations of the forward pass in order, and calls see with each operation and its result, until see
// returns false. It stops at the first error or panic.
func (p *Program) Forward(see func(o *Op, out Numbers) (more bool)) error {
	for i := range p.steps {
		s := &p.steps[i]
		if !s.op.Forward || s.again {
			continue
		}
		if err := s.do(); err != nil {
			return err
		}
		if !see(s.op, s.out) {
			return nil
		}
	}
	return nil
}

func (s *step) do() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("%s: %v", s.op.Name, r)
		}
	}()
	for i := range s.bound {
		s.bound[i].buffer.Bind(s.bound[i].Numbers)
	}
	return errors.Wrap(s.run(), s.op.Name)
}
