package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// rewardsFile is the file of a checkpoint with the mean reward of every round so far.
const rewardsFile = "rewards.json"

const stateFormat = 1

// unsaved is the time between two checkpoints.
const unsaved = time.Minute

// stage is the training of one agent, with a directory of its own in out_dir. It is nil without -out_dir.
type stage struct {
	agent    *agent
	dir      *checkpoint.Dir
	settings string // that determine the steps
	rewards  []float64
	saved    time.Time
}

// stage opens the directory of a training, and sets the agent to the newest checkpoint there, if there is one.
func (o options) stage(name string, a *agent) (s *stage, err error) {
	if o.outDir == "" {
		return nil, nil
	}
	determining := o
	determining.outDir, determining.resume, determining.objective = "", false, ""
	determining.threads, determining.tests = 0, 0
	s = &stage{agent: a, settings: fmt.Sprintf("%+v", determining), saved: time.Now()}
	path := filepath.Join(o.outDir, strings.NewReplacer(" ", "_", ",", "").Replace(name))
	dir, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	s.dir = dir
	defer func() {
		if err != nil {
			dir.Close()
		}
	}()
	cp, err := dir.Load()
	if errors.Is(err, checkpoint.ErrNone) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer cp.Close()
	if !o.resume {
		return nil, errors.Errorf("-out_dir: %s holds a checkpoint of step %d; -resume continues it", path, cp.Step)
	}
	return s, errors.Wrapf(s.restore(cp), "checkpoint %s", cp.Path)
}

// restore sets the state of a checkpoint.
func (s *stage) restore(cp *checkpoint.Checkpoint) error {
	var state train.State[string]
	if err := train.ReadState(cp, train.MaxJSON, &state, stateFormat); err != nil {
		return err
	}
	if state.Config != s.settings {
		return errors.Errorf("settings: got %s, want %s as saved", s.settings, state.Config)
	}
	if err := train.ReadJSON(cp, rewardsFile, train.MaxJSON, &s.rewards); err != nil {
		return err
	}
	if err := train.ReadWeights(cp, s.agent.model.Graph); err != nil {
		return err
	}
	return state.Restore(s.agent.Core, cp)
}

// save saves a checkpoint once a minute, at the end of the training, and if ctx is done, whose cause it then returns.
func (s *stage) save(ctx context.Context, end bool) error {
	if s != nil && (end || ctx.Err() != nil || time.Since(s.saved) > unsaved) {
		state, err := train.StateOf(s.agent.Core, stateFormat, s.settings)
		if err != nil {
			return err
		}
		files := append(s.agent.Core.Files(state.Step, nil, state),
			checkpoint.File{Name: rewardsFile, Write: train.WriteJSON(s.rewards)})
		if err := s.dir.Save(state.Step, files); err != nil {
			return err
		}
		if s.saved = time.Now(); ctx.Err() != nil {
			return errors.WithMessagef(context.Cause(ctx), "saved at step %d, continue with -resume", state.Step)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// close unlocks the directory.
func (s *stage) close() {
	if s != nil {
		s.dir.Close()
	}
}
