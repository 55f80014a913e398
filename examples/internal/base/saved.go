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

// Check is what is wrong with a configuration whatever the text is: to be asked before one is read or downloaded.
func Check(c gpt.Config) error {
	if c.VocabSize == 0 { // from the text
		c.VocabSize = 1
	}
	return c.Validate()
}

// CheckTraining returns the first field of a training or run that is out of its range. It is for flags that are read
// before their network is known.
func CheckTraining(t train.Training, r train.Run) error {
	return train.Fields(&t, &r, parts.Names(parts.Optimizers())).Check()
}

// SavedConfig returns the configuration of the run of a checkpoint.
func SavedConfig(cp *checkpoint.Checkpoint) (gpt.Config, error) {
	var s struct {
		Config gpt.Config `json:"config"`
	}
	err := train.PeekJSON(cp, train.StateFile, &s)
	return s.Config, err
}

// Finished says of a run that is resumed that there is nothing left to do, if it is so, and with what else one can go
// on.
func Finished(run train.Run, cp *checkpoint.Checkpoint, more string, stdout io.Writer) bool {
	if cp.Step < run.MaxIters || !program.Finished(run.OutDir) {
		return false
	}
	fmt.Fprintf(stdout, "%s: finished at step %d of max_iters %d; -resume -max_iters %d goes on, %s\n",
		run.OutDir, cp.Step, run.MaxIters, 2*max(cp.Step, 1), more)
	return true
}
