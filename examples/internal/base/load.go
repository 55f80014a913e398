package base

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// Kind is a kind of models whose checkpoints programs load.
type Kind struct {
	Open    func(path string, fits ...checkpoint.Fit) (*checkpoint.Checkpoint, error) // such as checkpoint.Load
	Fit     checkpoint.Fit
	Example string // the program that trains such a model; empty if models come from elsewhere
}

// Decoder returns the kind that examples/tinyshakespeare trains.
func Decoder() Kind { return Kind{checkpoint.Load, gpt.Fits(), "./examples/tinyshakespeare"} }

// Translator returns the kind that examples/translate trains.
func Translator() Kind { return Kind{checkpoint.Load, seq2seq.Fits(), "./examples/translate"} }

// Load returns the newest checkpoint in dir and lists skipped ones on stderr. If there is none, the error is
// checkpoint.ErrNone with advice.
func (k Kind) Load(dir string, stderr io.Writer) (*checkpoint.Checkpoint, error) {
	program.Doing(stderr, "loading "+dir)
	cp, err := k.Open(dir, k.Fit)
	return report(cp, k.Advise(dir, err), stderr)
}

// Advise adds to a checkpoint.ErrNone what is missing, and the command to run first or what to give instead. It returns
// any other error unchanged.
func (k Kind) Advise(dir string, err error) error {
	if !errors.Is(err, checkpoint.ErrNone) {
		return err
	}
	said := "; want a folder in Hugging Face's form, a GGUF file, or the directory of a run"
	if k.Example != "" {
		said = fmt.Sprintf("; go run %s -out_dir %s trains a model first", k.Example, dir)
	}
	if _, missing := os.Stat(dir); errors.Is(missing, fs.ErrNotExist) {
		said = ": there is no such file or directory" + said
	}
	return advice{err, said}
}

// advice is an error with what resolves it.
type advice struct {
	error
	said string
}

// Error returns the message followed by the advice.
func (a advice) Error() string { return a.error.Error() + a.said }

// Unwrap returns the error without the advice.
func (a advice) Unwrap() error { return a.error }

// report lists on stderr the checkpoints that were skipped for cp.
func report(cp *checkpoint.Checkpoint, err error, stderr io.Writer) (*checkpoint.Checkpoint, error) {
	if err != nil {
		return nil, err
	}
	for _, refused := range cp.Refused {
		fmt.Fprintln(stderr, "skipped:", program.Shown(refused))
	}
	return cp, nil
}

// Resume locks the directory of a run before it reads its newest checkpoint, so that it sees everything the previous
// process has saved. It does not change a directory without a checkpoint.
func (k Kind) Resume(path string, stderr io.Writer) (*checkpoint.Dir, *checkpoint.Checkpoint, error) {
	none := func(cp *checkpoint.Checkpoint) error {
		if cp.Published {
			return errors.New("only a model: there is no run to resume")
		}
		return errors.New("not read before the lock")
	}
	if _, err := checkpoint.Load(path, none); !errors.Is(err, checkpoint.ErrDamaged) {
		return nil, nil, k.Advise(path, err)
	}
	dir, err := checkpoint.Open(path)
	if err != nil {
		return nil, nil, err
	}
	cp, err := dir.Load(k.Fit)
	if cp, err = report(cp, err, stderr); err != nil {
		dir.Close()
		return nil, nil, err
	}
	// An error here is reported when the state is read.
	if was, err := train.BuildOf(cp); err == nil && !was.SameBits(train.ThisBuild()) {
		fmt.Fprintf(stderr, "saved by another build, %.80q, not %q: from here on the last digits differ\n",
			was, train.ThisBuild())
	}
	return dir, cp, nil
}

// Vacant returns an error if the directory of a new run holds a checkpoint. It creates nothing.
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

// Begin locks the directory of a new run, which must not contain checkpoints.
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
