package base

import (
	"fmt"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
)

// Check returns the errors of a configuration that do not depend on the text, before one is read or downloaded.
func Check(c gpt.Config) error {
	if c.VocabSize == 0 { // taken from the text
		c.VocabSize = 1
	}
	return c.Validate()
}

// CheckTraining returns an error that names the first field of a training or run that is out of range. It is for flags
// that are read before the network is known.
func CheckTraining(t train.Training, r train.Run) error {
	return train.Fields(&t, &r, parts.Names(parts.Optimizers()), parts.Names(train.Schedules())).Check()
}

// SavedConfig returns the configuration of the run of a checkpoint.
func SavedConfig(cp *checkpoint.Checkpoint) (gpt.Config, error) {
	var s struct {
		Config gpt.Config `json:"config"`
	}
	err := train.PeekJSON(cp, train.StateFile, &s)
	return s.Config, err
}

// Finished reports whether a resumed run has no steps left. If so, it prints how to continue the run, and more.
func Finished(run train.Run, cp *checkpoint.Checkpoint, more string, stdout io.Writer) bool {
	if cp.Step < run.MaxIters || !program.Finished(run.OutDir) {
		return false
	}
	fmt.Fprintf(stdout, "%s: finished at step %d of max_iters %d; -resume -max_iters %d continues it, %s\n",
		run.OutDir, cp.Step, run.MaxIters, 2*max(cp.Step, 1), more)
	return true
}
