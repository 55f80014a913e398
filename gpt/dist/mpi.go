//go:build mpi && cgo

package dist

/*
#cgo !mpicc pkg-config: mpi-c
#include <stdlib.h>
#include <time.h>
#include <mpi.h>

// These functions are in C because names of MPI are macros in some of its implementations, which cgo cannot use.

static int start(int *level) {
	int err = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, level);
	if (err == MPI_SUCCESS) err = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	return err;
}

static int place(int *rank, int *size) {
	int err = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	return err == MPI_SUCCESS ? MPI_Comm_size(MPI_COMM_WORLD, size) : err;
}

// MPI_Sendrecv would occupy a processor until the last number has arrived, but the backward pass and other ranks on the
// same machine need it meanwhile. So exchange tests often at first, and then every twentieth of a millisecond.
static int exchange(int peer, float *out, int outs, float *in, int ins, int *got) {
	MPI_Request both[2];
	MPI_Status status[2];
	int err = MPI_Irecv(in, ins, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &both[0]);
	if (err == MPI_SUCCESS) err = MPI_Isend(out, outs, MPI_FLOAT, peer, 0, MPI_COMM_WORLD, &both[1]);
	for (int done = 0, looked = 0; err == MPI_SUCCESS && !done; looked++) {
		err = MPI_Testall(2, both, &done, status);
		if (!done && looked >= 300) nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
	if (err == MPI_ERR_IN_STATUS) err = status[0].MPI_ERROR != MPI_SUCCESS ? status[0].MPI_ERROR : status[1].MPI_ERROR;
	return err == MPI_SUCCESS ? MPI_Get_count(&status[0], MPI_FLOAT, got) : err;
}

static int add(float *x, int n) { return MPI_Allreduce(MPI_IN_PLACE, x, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }

static int plus(float *y, float *x, int n) { return MPI_Reduce_local(y, x, n, MPI_FLOAT, MPI_SUM); }

static void say(int err, char *text) {
	int n = 0;
	if (MPI_Error_string(err, text, &n) != MPI_SUCCESS) n = 0;
	text[n] = 0;
}

static int longest(void) { return MPI_MAX_ERROR_STRING + 1; }

static int serialized(int level) { return level >= MPI_THREAD_SERIALIZED; }
*/
import "C"

import (
	"math"
	"unsafe"

	"github.com/pkg/errors"
)

// Open joins the ranks that mpirun, srun or another launcher of MPI has started, once in a process.
func Open(o Options) (Group, error) {
	var level C.int
	if err := mpiError("MPI_Init_thread", C.start(&level)); err != nil {
		return nil, err
	}
	if C.serialized(level) == 0 {
		return nil, errors.Errorf("MPI_Init_thread: got thread level %d, want MPI_THREAD_SERIALIZED", level)
	}
	var rank, size C.int
	if err := mpiError("MPI_Comm_rank", C.place(&rank, &size)); err != nil {
		return nil, err
	}
	return Over(world{int(rank), int(size)}, o)
}

// world is the Link of all ranks of MPI.
type world struct{ rank, size int }

func (w world) Rank() int { return w.rank }
func (w world) Size() int { return w.size }

func (w world) Exchange(peer int, send, receive []float32) error {
	if max(len(send), len(receive)) > math.MaxInt32 {
		return errors.Errorf("got %d and %d numbers, want at most %d", len(send), len(receive), math.MaxInt32)
	}
	var got C.int
	err := mpiError("MPI_Testall", C.exchange(C.int(peer), (*C.float)(unsafe.SliceData(send)), C.int(len(send)),
		(*C.float)(unsafe.SliceData(receive)), C.int(len(receive)), &got))
	if err == nil && int(got) != len(receive) {
		err = errors.Errorf("got %d numbers from rank %d, want %d", got, peer, len(receive))
	}
	return errors.Wrapf(err, "with rank %d", peer)
}

func (w world) Add(x []float32) error {
	if len(x) > math.MaxInt32 {
		return errors.Errorf("got %d numbers, want at most %d", len(x), math.MaxInt32)
	}
	return mpiError("MPI_Allreduce", C.add((*C.float)(unsafe.SliceData(x)), C.int(len(x))))
}

func (w world) Plus(x, y []float32) error {
	from, to := (*C.float)(unsafe.SliceData(y)), (*C.float)(unsafe.SliceData(x))
	return mpiError("MPI_Reduce_local", C.plus(from, to, C.int(len(y))))
}

func (w world) Close() error { return mpiError("MPI_Finalize", C.MPI_Finalize()) }

// mpiError returns the error of a call, with MPI's message.
func mpiError(call string, err C.int) error {
	if err == C.MPI_SUCCESS {
		return nil
	}
	text := (*C.char)(C.malloc(C.size_t(C.longest())))
	defer C.free(unsafe.Pointer(text))
	C.say(err, text)
	return errors.Errorf("%s: %s", call, C.GoString(text))
}
