package base

import (
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// Load is the newest checkpoint of a gpt in dir, or checkpoint.ErrNone; those passed over are listed on stderr.
func Load(dir string, stderr io.Writer) (*checkpoint.Checkpoint, error) {
	return LoadAs(gpt.Fits(), dir, stderr)
}

// LoadAs is Load of a model of another kind.
func LoadAs(fit checkpoint.Fit, dir string, stderr io.Writer) (*checkpoint.Checkpoint, error) {
	cp, err := checkpoint.Load(dir, fit)
	return tell(cp, err, stderr)
}

func tell(cp *checkpoint.Checkpoint, err error, stderr io.Writer) (*checkpoint.Checkpoint, error) {
	if err != nil {
		return nil, err
	}
	for _, refused := range cp.Refused {
		fmt.Fprintln(stderr, "passed over:", program.Shown(refused))
	}
	return cp, nil
}

// Resume locks the directory of a run, and only then reads its newest checkpoint: whatever the process before has saved
// is there. A directory without a checkpoint is left as it is.
func Resume(fit checkpoint.Fit, path string, stderr io.Writer) (*checkpoint.Dir, *checkpoint.Checkpoint, error) {
	none := func(cp *checkpoint.Checkpoint) error {
		if cp.Published {
			return errors.New("a model alone: there is no run to resume")
		}
		return errors.New("not read before the lock")
	}
	if _, err := checkpoint.Load(path, none); !errors.Is(err, checkpoint.ErrDamaged) {
		return nil, nil, err
	}
	dir, err := checkpoint.Open(path)
	if err != nil {
		return nil, nil, err
	}
	cp, err := dir.Load(fit)
	if cp, err = tell(cp, err, stderr); err != nil {
		dir.Close()
		return nil, nil, err
	}
	if was, err := train.BuildOf(cp); err == nil && !was.SameBits(train.ThisBuild()) { // whoever reads the state has the error
		fmt.Fprintf(stderr, "saved by another build, %.80q, not %q: from here on the last digits differ\n", was, train.ThisBuild())
	}
	return dir, cp, nil
}

// Vacant is an error if the directory of a new run holds a checkpoint. It makes nothing.
func Vacant(path string) error {
	cp, err := checkpoint.Load(path)
	return vacant(path, cp, err)
}

func vacant(path string, cp *checkpoint.Checkpoint, err error) error {
	if errors.Is(err, checkpoint.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	defer cp.Close()
	if cp.Published {
		return errors.Errorf("out_dir: %s holds a published model; another -out_dir begins a run", path)
	}
	return errors.Errorf("out_dir: %s holds a checkpoint of step %d; -resume continues it, "+
		"another -out_dir begins a new run", path, cp.Step)
}

// Begin locks the directory of a new run, which has to be without checkpoints.
func Begin(path string) (*checkpoint.Dir, error) {
	dir, err := checkpoint.Open(path)
	if err != nil {
		return nil, err
	}
	cp, err := dir.Load()
	if err := vacant(path, cp, err); err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
