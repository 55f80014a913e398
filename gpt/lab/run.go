package lab

import (
	"context"
	"iter"
	"runtime"
	"sync"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pkg/errors"
)

// Run runs the trials that have no result in Dir yet, and yields every trial when it is finished, those with a result
// first. Which trials there are may depend on results: Tuning chooses settings, and Looks ends arms early.
//
// Several processes may run the same study at once: each begins at its Part, takes the trials that no other process
// runs, and waits at the end for those that others run. A trial whose process was killed continues from its last
// checkpoint in another process. When ctx ends, every trial saves a checkpoint, and Run yields the cause.
//
// A trial whose loss is not finite is a result. Any other error ends Run, after the other trials have saved.
func (s *Study) Run(ctx context.Context) iter.Seq2[*Trial, error] {
	return func(yield func(*Trial, error) bool) {
		if err := s.rounds(ctx, func(t *Trial) bool { return yield(t, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

// rounds runs one list of trials after another, until no trial is missing.
func (s *Study) rounds(ctx context.Context, yield func(*Trial) bool) error {
	if ctx == nil {
		return errors.New("study: no context (nil)")
	}
	p, err := s.planned()
	if err != nil {
		return err
	}
	if err := s.claim(); err != nil {
		return errors.WithMessagef(err, "study %q", s.Name)
	}
	seen := map[string]bool{}
	for {
		v, err := p.survey()
		if err != nil {
			return errors.WithMessagef(err, "study %q", s.Name)
		}
		for t := range v.finished() {
			if !seen[t.Key] {
				seen[t.Key], t.Reused = true, true
				if !yield(t) {
					return nil
				}
			}
		}
		if len(v.missing) == 0 {
			return nil
		}
		more, err := p.round(ctx, v.missing, func(t *Trial) bool { seen[t.Key] = true; return yield(t) })
		if err != nil || !more {
			return errors.WithMessagef(err, "study %q", s.Name)
		}
	}
}

// round runs trials in Jobs goroutines. more is false if yield has returned false.
func (s *Study) round(ctx context.Context, list []*Trial, yield func(*Trial) bool) (more bool, err error) {
	inner, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type finished struct {
		*Trial
		error
	}
	results := make(chan finished)
	q := &queue{list: list}
	if s.Parts > 0 { // from this process's part on
		at := len(list) * s.Part / s.Parts
		q.list = append(list[at:len(list):len(list)], list[:at]...)
	}
	var watching sync.Mutex
	watch := func(step Step) {
		if s.Watch != nil {
			watching.Lock()
			defer watching.Unlock()
			s.Watch(step)
		}
	}
	var workers sync.WaitGroup
	for range min(max(s.Jobs, 1), len(list)) {
		workers.Go(func() {
			for t := q.take(inner); t != nil; t = q.take(inner) {
				err := s.run(inner, t, watch)
				if errors.Is(err, errBusy) {
					q.wait(t)
					continue
				}
				results <- finished{t, err}
			}
		})
	}
	go func() { workers.Wait(); close(results) }()
	more = true
	for f := range results {
		switch {
		case err != nil || !more: // the others end, too
		case f.error != nil:
			err = f.error
			stop(err)
		case !yield(f.Trial):
			more = false
			stop(errStopped)
		}
	}
	if err == nil && more && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return more, err
}

// errStopped ends the trials of a Run whose caller has left the loop.
var errStopped = errors.New("the loop over the trials has ended")

// queue holds the trials of a round. A trial that another process runs comes back after a pause.
type queue struct {
	sync.Mutex
	list    []*Trial
	waiting []*Trial
}

// pause is the time between two looks at the trials of other processes.
const pause = 200 * time.Millisecond

// take returns the next trial, or nil at the end of the round or of ctx.
func (q *queue) take(ctx context.Context) *Trial {
	for ctx.Err() == nil {
		q.Lock()
		if len(q.list) > 0 {
			t := q.list[0]
			q.list = q.list[1:]
			q.Unlock()
			return t
		}
		if len(q.waiting) == 0 {
			q.Unlock()
			return nil
		}
		q.list, q.waiting = q.waiting, nil
		q.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

func (q *queue) wait(t *Trial) {
	q.Lock()
	defer q.Unlock()
	q.waiting = append(q.waiting, t)
}

// threads returns the number of threads of one trial.
func (s *Study) threads(c gpt.Config) int {
	all := c.Threads
	if all == 0 {
		all = runtime.GOMAXPROCS(0)
	}
	return max(1, all/max(s.Jobs, 1))
}
