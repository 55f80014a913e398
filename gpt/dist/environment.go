package dist

import (
	"os"
	"strconv"

	"github.com/pkg/errors"
)

// Alone returns an error if the process was started as one of several ranks, by mpirun, srun or another launcher of
// MPI. It is for programs that cannot run as several ranks, because each would write the others' files.
func Alone() error {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"} {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 1 {
			return errors.Errorf("%s: got %d ranks, want 1", name, n)
		}
	}
	return nil
}
