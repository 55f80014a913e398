package train

import (
	"io"
	"math"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// The files that every checkpoint of a run has.
const (
	WeightsFile   = "model.safetensors"
	OptimizerFile = "optimizer.safetensors"
	StateFile     = "state.json"
)

// State holds everything that is needed to resume a run except the numbers of its tensors. C is the type of its
// configuration.
type State[C any] struct {
	Format  int      `json:"format"`
	Step    int      `json:"step"`
	Best    *float64 `json:"best_val_loss"` // null before the first evaluation
	Batches []byte   `json:"batches"`       // the generator that draws them; null if they depend only on the step
	Corpus  string   `json:"corpus_sha256"`
	Config  C        `json:"config"`
	Build   Build    `json:"build"`
}

// StateOf returns the state of c, of a run on a corpus with that SHA-256. If c is nil, it is the state at step 0.
func StateOf[C any](c *Core, format int, batches []byte, sha256 string, config C) State[C] {
	if c == nil {
		return State[C]{Format: format, Batches: batches, Corpus: sha256, Config: config, Build: ThisBuild()}
	}
	s := State[C]{format, c.Done, nil, batches, sha256, config, ThisBuild()}
	if !math.IsInf(c.Best, 1) {
		s.Best = &c.Best
	}
	return s
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

// Restore sets the rest of the saved state in c, which must be built with the same number of steps done. The caller
// sets the network's tensors from the checkpoint's weights.
func (s *State[C]) Restore(c *Core, cp *checkpoint.Checkpoint) error {
	if s == nil || c == nil || cp == nil {
		return errors.New("restore: the state, its Core or its checkpoint is nil")
	}
	if c.Done != s.Step {
		return errors.Errorf("restore: got a Core at step %d, want step %d", c.Done, s.Step)
	}
	f, err := OpenTensors(cp, OptimizerFile)
	if err != nil {
		return err
	}
	if err := Restore(c.Moments(), f); err != nil {
		return errors.Wrap(err, OptimizerFile)
	}
	if s.Best != nil {
		c.Best = *s.Best
	}
	return nil
}

// Moments returns the optimizer's tensors under their names in its file. If they are divided among the machines of a
// Group, it returns this machine's part.
func (c *Core) Moments() (list []Named) {
	if c == nil || c.optimizer == nil {
		return nil
	}
	o := c.optimizer
	o.Moments(func(name string, m, v graph.Tensor) {
		for _, moment := range []Named{{Name: "m." + name, Tensor: m}, {Name: "v." + name, Tensor: v}} {
			if c.sharded() && moment.F32 != nil {
				moment.first = o.First(name)
				moment.complete = func() (graph.Tensor, error) { return o.Whole(name, moment.Tensor) }
			} else if moment.Len() == 0 {
				continue
			}
			list = append(list, moment)
		}
	})
	return list
}

// WriteMoments writes OptimizerFile. If the moments are divided among the machines of a Group, the other machines must
// call Attend meanwhile. Numbers that are not finite are an error.
func (c *Core) WriteMoments(w io.Writer) error {
	if c == nil || c.optimizer == nil {
		return errors.New("trainer: no moments, want a Core from New")
	}
	return WriteTensors(w, c.Moments(), nil, "")
}

// Attend must be called on the other machines of a Group while rank 0 writes its Files. If the moments are divided
// among the machines, it sends this machine's part; otherwise it does nothing.
func (c *Core) Attend() error {
	if c != nil && c.optimizer != nil && !c.sharded() {
		return nil
	}
	return c.WriteMoments(io.Discard)
}

// AtStep returns a function that calls write for the tensors of the step that is done now, and locks c meanwhile: a
// Step in another goroutine is an error until write returns. The function returns an error if another step has been
// done since AtStep, because the checkpoint would mix two steps, or if another goroutine uses c.
func (c *Core) AtStep(write func(io.Writer) error) func(io.Writer) error {
	if c == nil || write == nil {
		return func(io.Writer) error { return errors.New("files: the Core or the function that writes is nil") }
	}
	step := c.Done
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
