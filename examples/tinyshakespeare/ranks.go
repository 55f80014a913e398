package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// The commands of rank 0 to the others. Only rank 0 reads the clock, the disk and signals, so all do the same.
const (
	finish float32 = iota
	meet
	step
	saving
	evaluation
	validation
)

// tell makes the other ranks of a group do the same as this one next.
func tell(g dist.Group, what float32) error { return g.Share([]float32{what}, 0) }

// uninterrupted returns a context that does not end during an operation in which other ranks take part.
func uninterrupted(ctx context.Context, g dist.Group) context.Context {
	if g.Size() > 1 {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// follow runs a rank that computes with rank 0, and neither writes nor reports.
func follow(ctx context.Context, g dist.Group, c gpt.Config, o options, args []string, stderr io.Writer) error {
	t, err := follower(ctx, g, c, o, args, stderr)
	if err == nil {
		err = serve(ctx, g, t)
	}
	return errors.WithMessagef(err, "rank %d", g.Rank())
}

// shared returns an error unless all ranks see the directory of the run, in which rank 0 creates a temporary file.
func shared(g dist.Group, path string) error {
	if g.Size() == 1 {
		return nil
	}
	const prefix = ".ranks-"
	mark := []float32{float32(rand.IntN(1 << 24))} // an integer that float32 represents exactly
	name := func() string { return filepath.Join(path, fmt.Sprint(prefix, int(mark[0]))) }
	if g.Rank() == 0 {
		if err := tell(g, meet); err != nil {
			return err
		}
		numbered := func(rest string) bool { _, err := strconv.Atoi(rest); return err == nil }
		file.Sweep(path, prefix, numbered)
		f, err := file.Create(name())
		if err != nil {
			return errors.Wrap(err, "out_dir")
		}
		defer os.Remove(name())
		defer f.Close()
		holder, err := file.Hold(name())
		if err != nil {
			return errors.Wrap(err, "out_dir")
		}
		defer holder.Close()
	}
	if err := g.Share(mark, 0); err != nil {
		return err
	}
	if _, err := os.Lstat(name()); err != nil {
		return errors.Errorf("out_dir: %s differs from rank 0's, want a directory that all machines share", path)
	}
	return g.Barrier()
}

// follower returns the trainer of a run that rank 0 begins or resumes, or nil if no steps are left.
func follower(
	ctx context.Context, g dist.Group, c gpt.Config, o options, args []string, stderr io.Writer,
) (*gpt.Trainer, error) {
	var saved *checkpoint.Checkpoint
	var err error
	if o.resume {
		if saved, err = base.Decoder().Load(c.OutDir, io.Discard); err != nil {
			return nil, errors.WithMessage(err, "out_dir, which all machines share")
		}
		defer saved.Close()
		if c, o, err = again(c.OutDir, saved, args); err != nil || finished(c, saved, io.Discard) {
			return nil, err
		}
	}
	if err := base.Check(c); err != nil {
		return nil, err
	}
	_, data, tok, err := o.open(ctx, c.BlockSize, saved, stderr)
	if err != nil {
		return nil, err
	}
	return trainer(ctx, g, c, data, tok, saved)
}

// serve executes the commands of rank 0.
func serve(ctx context.Context, g dist.Group, t *gpt.Trainer) error {
	for {
		what := []float32{finish}
		if err := g.Share(what, 0); err != nil || what[0] == finish {
			return err
		}
		if t == nil {
			return errors.New("rank 0 trains, but no steps are left here")
		}
		var err error
		switch what[0] {
		case meet:
			err = shared(g, t.Config().OutDir)
		case step:
			_, err = t.Step()
		case saving:
			err = t.Attend()
		case evaluation:
			_, err = t.Evaluate(context.WithoutCancel(ctx))
		case validation:
			_, err = t.EvaluateAll(context.WithoutCancel(ctx), nil)
		}
		if err != nil {
			return err
		}
	}
}
