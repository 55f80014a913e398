//go:build mpi && !cgo

package dist

import "github.com/pkg/errors"

// Open returns an error, because MPI requires cgo.
func Open(Options) (Group, error) {
	return nil, errors.New("built with -tags mpi without cgo: want CGO_ENABLED=1 and a C compiler")
}
