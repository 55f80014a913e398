package train

import (
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// State holds everything that is needed to resume a run except the numbers of its tensors. C is the type of its
// configuration.
type State[C any] struct {
	Format  int      `json:"format"`
	Step    int      `json:"step"`
	Best    *float64 `json:"best_val_loss"` // null before the first evaluation
	Since   int      `json:"evals_since_best,omitempty"`
	Batches []byte   `json:"batches"` // the generator that draws them; null if they depend only on the step
	Corpus  string   `json:"corpus_sha256"`
	Config  C        `json:"config"`
	Build   Build    `json:"build"`
}

// StateOf returns the state of c, a run of that configuration.
func StateOf[C any](c *Core, format int, config C) (s State[C], err error) {
	if err := c.begin(); err != nil {
		return s, err
	}
	defer c.busy.Unlock()
	s = State[C]{Format: format, Step: c.Done, Corpus: c.corpus(), Config: config, Build: ThisBuild()}
	if best := c.Best; !math.IsInf(best, 1) {
		s.Best = &best
	}
	if c.limits.Patience > 0 {
		s.Since = c.Since
	}
	if c.task.Batches != nil {
		s.Batches, err = c.task.Batches.MarshalBinary()
	}
	return s, err
}

// Files returns the files that every checkpoint of a run has: the weights, the moments, state, a State of c or a type
// that contains it, and the certificate of the run, which is also put beside the checkpoints. write writes the weights;
// nil means WriteWeights. The tensors are read when their files are written, and c is locked meanwhile: it is an error
// if another step has been done than step, the step of state, or if another goroutine uses c.
func (c *Core) Files(step int, write func(io.Writer) error, state any) []checkpoint.File {
	if write == nil && c != nil {
		write = func(w io.Writer) error { return WriteWeights(w, c.graph) }
	}
	list := append([]checkpoint.File{
		{Name: WeightsFile, Write: c.atStep(step, write)},
		{Name: OptimizerFile, Write: c.atStep(step, c.writeMoments)},
		{Name: StateFile, Write: WriteJSON(state)},
	}, c.carriedFile(step)...)
	return append(list, c.certificateFile(step, list))
}

// atStep returns a function that calls write while c is locked. The function returns an error unless the number of
// steps done is step: the checkpoint would mix two steps.
func (c *Core) atStep(step int, write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		if err := c.begin(); err != nil {
			return errors.Wrapf(err, "files of step %d", step)
		}
		defer c.busy.Unlock()
		if c.Done != step {
			return errors.Errorf("files of step %d: got step %d since, want them saved before another step",
				step, c.Done)
		}
		return write(w)
	}
}

// ReadState reads the StateFile of a checkpoint, of at most most bytes, into s, a State or a struct that contains one,
// and checks it: State.Check.
func ReadState(
	cp *checkpoint.Checkpoint, most int, s interface {
		Check(cp *checkpoint.Checkpoint, formats ...int) error
	}, formats ...int,
) error {
	if err := ReadJSON(cp, StateFile, most, s); err != nil {
		return err
	}
	return s.Check(cp, formats...)
}

// Check returns an error unless s has one of the formats and the step of checkpoint cp.
func (s *State[C]) Check(cp *checkpoint.Checkpoint, formats ...int) error {
	switch newest := slices.Max(append(formats, 0)); {
	case s == nil || cp == nil:
		return errors.New("state: the state or its checkpoint is nil")
	case !slices.Contains(formats, s.Format):
		return errors.Errorf("checkpoint %s: format %d, this program reads %d", cp.Path, s.Format, newest)
	case s.Step != cp.Step:
		return errors.Errorf("checkpoint %s: %s says step %d, its directory step %d",
			cp.Path, StateFile, s.Step, cp.Step)
	}
	return nil
}

// Restore sets the rest of the saved state in c, which must be new, or built with
// the same number of steps done. The caller sets the network's tensors
// from the checkpoint's weights. It is an error if c reads other data.
func (s *State[C]) Restore(c *Core, cp *checkpoint.Checkpoint) error {
	if s == nil || c == nil || cp == nil {
		return errors.New("restore: the state, its Core or its checkpoint is nil")
	}
	switch {
	case c.optimizer == nil:
		return errors.New("restore: got no Core, want one from New")
	case c.Done != 0 && c.Done != s.Step:
		return errors.Errorf("restore: got a Core at step %d, want a new one, or step %d", c.Done, s.Step)
	case s.Step < 0 || s.Step > field.MaxSize:
		return errors.Errorf("restore: got a state of step %d, want 0 to %d", s.Step, field.MaxSize)
	case s.Corpus != c.corpus():
		return errors.Errorf("trained on data with sha256 %s, this has %s", field.Clip(s.Corpus), c.corpus())
	}
	c.Done, c.optimizer.Steps = s.Step, s.Step
	if c.task.Batches != nil {
		if err := c.task.Batches.UnmarshalBinary(s.Batches); err != nil {
			return errors.Wrap(err, StateFile)
		}
	}
	f, err := OpenTensors(cp, OptimizerFile)
	if err != nil {
		return err
	}
	if err := Restore(c.Moments(), f); err != nil {
		return errors.Wrap(err, OptimizerFile)
	}
	if err := c.restoreStates(cp); err != nil {
		return err
	}
	if err := c.restoreChain(cp); err != nil {
		return err
	}
	if s.Best != nil {
		c.Best = *s.Best
	}
	c.Since = s.Since
	return nil
}

// Moments returns the tensors of OptimizerFile under their names there: the optimizer's, m.NAME, v.NAME and the tensors
// of optim.State.Further, and the averages of EMA, e.NAME. If the optimizer's are divided among the machines of a
// Group, it returns its own part.
func (c *Core) Moments() (list []Named) {
	if c == nil || c.optimizer == nil {
		return nil
	}
	o := c.optimizer
	o.Moments(func(kept, param string, t graph.Tensor) {
		moment := Named{Name: kept + "." + param, Tensor: t}
		if c.sharded() {
			moment.first = o.First(param, t)
			moment.complete = func() (graph.Tensor, error) { return o.Whole(param, t) }
		}
		list = append(list, moment)
	})
	for _, average := range c.Averages() {
		average.Name = "e." + average.Name
		list = append(list, average)
	}
	return list
}

// writeMoments writes OptimizerFile. If the moments are divided among the machines of a Group, the other machines must
// call Attend meanwhile. Numbers that are not finite are an error.
func (c *Core) writeMoments(w io.Writer) error { return WriteTensors(w, c.Moments(), nil, "") }

// Attend must be called on the other machines of a Group while rank 0 writes its Files. It sends this machine's part of
// the moments, if they are divided among the machines, and its states, if there are any.
func (c *Core) Attend() error {
	if err := c.begin(); err != nil {
		return err
	}
	defer c.busy.Unlock()
	if c.sharded() {
		if err := c.writeMoments(io.Discard); err != nil {
			return err
		}
	}
	if c.alone() || len(c.carry.list) == 0 {
		return nil
	}
	return c.writeStates(io.Discard)
}
