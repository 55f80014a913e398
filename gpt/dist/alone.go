//go:build !mpi

package dist

import (
	"context"

	"github.com/pkg/errors"
)

// Open returns a group of one rank. With -tags mpi it joins the ranks that mpirun, srun or another launcher of MPI has
// started. Without the tag, a program that is started as one of several ranks is refused: see Alone.
func Open(o Options) (Group, error) {
	if err := Alone(); err != nil {
		return nil, errors.WithMessage(err, "built without -tags mpi")
	}
	return Over(&wire{newWires(context.Background(), 1), 0}, o)
}
