package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
	"github.com/pkg/errors"
	"golang.org/x/sync/semaphore"
)

// admission bounds the number of requests, and the memory that they take before their answers begin.
type admission struct {
	places chan struct{}       // an element for each request that waits for its answer or gets it
	bodies *semaphore.Weighted // bytes of bodies that are read or that wait
	work   *semaphore.Weighted // bytes of memory for the conversations that are read, rendered and encoded
}

// The budget of an admission, in bytes.
const (
	bodiesBudget = 64 << 20
	workBudget   = 128 << 20
	// workOfByte bounds the memory that a byte of a body takes until its tokens are known: most in a conversation of
	// empty messages, whose template writes far more than they contain.
	workOfByte = 32
)

func newAdmission(o options) admission {
	return admission{
		places: make(chan struct{}, o.lanes+o.queue),
		bodies: semaphore.NewWeighted(max(bodiesBudget, o.body+1)), work: semaphore.NewWeighted(workBudget),
	}
}

// full is the failure of a request that finds no place.
func (s *server) full() failure {
	return failure{http.StatusTooManyRequests, "requests", "", "rate_limit_exceeded",
		fmt.Sprintf("%d answers are being written and %d requests wait: try again later",
			s.options.lanes, s.options.queue)}
}

// place takes a place for each of n answers, which leave gives back.
func (s *server) place(n int) (leave func(), err error) {
	taken := 0
	leave = sync.OnceFunc(func() {
		for range taken {
			<-s.admission.places
		}
	})
	for taken < n {
		select {
		case s.admission.places <- struct{}{}:
			taken++
		default:
			leave()
			return nil, s.full()
		}
	}
	return leave, nil
}

// visit is a request that has a place.
type visit struct {
	data    []byte
	ctx     context.Context // ends when the client has left
	speak   func()          // is called before anything is written: see presence
	leave   func()          // gives back the place
	release func()          // gives back the room for the data
}

// admit reads the body of a request and gives it a place, or returns why not. It returns a visit with all functions.
func (s *server) admit(w http.ResponseWriter, h *http.Request) (v *visit, err error) {
	v = &visit{ctx: h.Context(), speak: func() {}, leave: func() {}, release: func() {}}
	switch {
	case s.stopping.Load():
		return v, s.stopped()
	case len(s.admission.places) == cap(s.admission.places):
		serve.Unread(w)
		return v, s.full()
	}
	data, release, err := s.bodyOf(w, h)
	if err != nil {
		release()
		serve.Unread(w)
		return v, err
	}
	leave, err := s.place(1)
	if err != nil {
		release()
		return v, err
	}
	v.data, v.release, v.leave = data, release, sync.OnceFunc(func() { release(); leave() })
	v.ctx, v.speak = presence(h)
	return v, nil
}

// prepared returns what f makes of the body of a visit, as soon as the budget has room for the work. It gives back the
// room for the body.
func prepared[T any](s *server, v *visit, f func(data []byte) (T, error)) (made T, err error) {
	data := v.data
	v.data = nil
	defer v.release()
	finish, err := s.working(v.ctx, data)
	if err != nil {
		return made, err
	}
	defer finish()
	return f(data)
}

// working waits until the budget has room for the work on a body, which release gives back.
func (s *server) working(ctx context.Context, body []byte) (release func(), err error) {
	n := min(workBudget, workOfByte*int64(len(body)))
	return func() { s.admission.work.Release(n) }, s.admission.work.Acquire(ctx, n)
}

// pieceOfBody is the number of bytes of a body for which room is taken at a time, so that a client takes room for what
// it has sent, not for what it has announced.
const pieceOfBody = 1 << 14

// bodyOf reads the body of a request, which has to arrive within the server's patience. The caller gives back the room
// for it by release.
func (s *server) bodyOf(w http.ResponseWriter, r *http.Request) (data []byte, release func(), err error) {
	taken := int64(0)
	release = sync.OnceFunc(func() { s.admission.bodies.Release(taken) })
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(s.patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return nil, release, err
	}
	body, limit := http.MaxBytesReader(w, r.Body, s.options.body), s.options.body+1
	if r.ContentLength >= 0 {
		limit = min(limit, r.ContentLength+1)
	}
	for err == nil {
		if len(data) == cap(data) { // twice as much
			more := min(int64(max(pieceOfBody, cap(data))), limit-int64(cap(data)))
			if !s.admission.bodies.TryAcquire(more) {
				return nil, release, s.full()
			}
			taken += more
			data = append(make([]byte, 0, int64(cap(data))+more), data...)
		}
		var n int
		n, err = body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, release, failure{http.StatusRequestEntityTooLarge, "invalid_request_error", "", "request_too_large",
			fmt.Sprintf("the request has more than %d bytes (-body)", s.options.body)}
	case err != io.EOF:
		return nil, release, failure{http.StatusBadRequest, "invalid_request_error", "", "", "the body did not arrive"}
	}
	err = control.SetReadDeadline(time.Time{})
	if errors.Is(err, http.ErrNotSupported) {
		err = nil
	}
	return data, release, err
}
