package train

import (
	"io"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// statesFile is the file of a checkpoint with the states that the next step begins with, for a Task with Carried.
const statesFile = "states.safetensors"

// Carried is a state that a network hands on from one window of its texts to the next, a row of numbers for each row of
// a micro-batch.
type Carried struct {
	Before graph.Expr // at the first token of the window: a Value, which has the name in statesFile
	After  graph.Expr // after the last token, of the shape of Before
}

// carry holds the states of all micro-batches of a step. Every rank of a Group keeps its own.
type carry struct {
	list       []Carried
	after      []graph.Expr
	kept, next []graph.Tensor // (micro-batches·rows, numbers): before the next step, and after the present one
}

// newCarry returns states of zeros for the given number of micro-batches.
func newCarry(list []Carried, micros int) (c carry, err error) {
	c.list = list
	for _, s := range list {
		before := s.Before.Tensor()
		if len(before.Shape) != 2 || s.After.Graph() == nil {
			return c, errors.Errorf("carry: %s: got shape %v, want a matrix that the network reads and writes",
				s.Before.Name(), before.Shape)
		}
		shape := []int{micros * before.Shape[0], before.Shape[1]}
		c.after = append(c.after, s.After)
		for _, states := range []*[]graph.Tensor{&c.kept, &c.next} {
			*states = append(*states, graph.Tensor{Shape: shape, F32: make([]float32, micros*before.Len())})
		}
	}
	return c, nil
}

// part returns the numbers of a micro-batch.
func (c carry) part(all []graph.Tensor, i, micro int) []float32 {
	n := c.list[i].Before.Tensor().Len()
	return all[i].F32[micro*n:][:n]
}

// load sets the states before a micro-batch of the next step.
func (c carry) load(micro int) {
	for i, s := range c.list {
		copy(s.Before.Tensor().F32, c.part(c.kept, i, micro))
	}
}

// store records the states after a micro-batch that p has run.
func (c carry) store(p *graph.Program, micro int) {
	for i, s := range c.list {
		copy(c.part(c.next, i, micro), p.Kept(s.After).F32)
	}
}

// done makes the recorded states the next step's.
func (c *carry) done() { c.kept, c.next = c.next, c.kept }

// clear sets the states before a micro-batch to the states at the beginning of a text.
func (c carry) clear() {
	for _, s := range c.list {
		clear(s.Before.Tensor().F32)
	}
}

// hand sets the states before a micro-batch to those after the one that p has run.
func (c carry) hand(p *graph.Program) {
	for _, s := range c.list {
		copy(s.Before.Tensor().F32, p.Kept(s.After).F32)
	}
}

// states returns the tensors of statesFile. The other ranks' are added when the file is written.
func (c *Core) states() (list []Named) {
	for i, s := range c.carry.list {
		state := Named{Name: s.Before.Name(), Tensor: c.carry.kept[i]}
		if !c.alone() {
			state.complete = func() (graph.Tensor, error) { return c.whole(i) }
		}
		list = append(list, state)
	}
	return list
}

// whole returns state i of all micro-batches: the sum over the ranks, each with zeros for the others' micro-batches.
func (c *Core) whole(i int) (graph.Tensor, error) {
	kept := c.carry.kept[i]
	all := graph.Tensor{Shape: kept.Shape, F32: make([]float32, kept.Len())}
	n := kept.Len() / c.Group.Size() // the micro-batches are divided in their order
	first := c.Group.Rank() * n
	copy(all.F32[first:first+n], kept.F32[first:])
	return all, c.Group.Sum(all.F32)
}

// carriedFile returns statesFile, or nothing without states.
func (c *Core) carriedFile(step int) (list []checkpoint.File) {
	if c != nil && len(c.carry.list) > 0 {
		list = append(list, checkpoint.File{Name: statesFile, Write: c.atStep(step, c.writeStates)})
	}
	return list
}

func (c *Core) writeStates(w io.Writer) error { return WriteTensors(w, c.states(), nil, "") }

// restoreStates reads statesFile, if there are states.
func (c *Core) restoreStates(cp *checkpoint.Checkpoint) error {
	if len(c.carry.list) == 0 {
		return nil
	}
	f, err := OpenTensors(cp, statesFile)
	if err != nil {
		return err
	}
	return errors.Wrap(Restore(c.states(), f), statesFile)
}
