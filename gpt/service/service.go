// Package service continues the texts of many clients with one model at once. Start with New, whose Service draws the
// tokens of all of them in a common batch.
package service

import (
	"context"
	"iter"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pkg/errors"
)

// ErrFull is the error of a request that finds the queue of a Service full.
var ErrFull = errors.New("service: the queue is full")

// ErrStopped is the error of a request to a Service that has stopped, or that stops before the request is done.
var ErrStopped = errors.New("service: stopped")

// Service continues the texts of many clients with one network. Texts join and leave a common batch at any time: a step
// computes the next token of all of them and reads the weights once. Prompts are read in pieces between these steps,
// and a text that begins like an earlier one of the same Salt starts from its keys and values. Texts that find no free
// lane wait in a queue.
type Service struct {
	lanes  *lanes
	places chan struct{} // an element for each request, in a lane or in the queue
	wake   chan struct{} // holds an element if the queue has changed

	mutex sync.Mutex // of the queue
	queue []*text

	active  []*text // by lane; nil if the lane is free
	used    []int   // by lane, the time of its last use, in requests
	time    int
	pace    pace
	started sync.Mutex
	ended   chan struct{} // closed when Run returns
}

// Request is a text to continue.
type Request struct {
	Prompt  []int           // at least one token
	Tokens  int             // the largest number of tokens to draw
	Sampler *search.Sampler // draws them; no other request may use it meanwhile
	Stop    []int           // tokens that end the text and are not yielded
	Top     int             // the number of likeliest tokens to report with each token
	// Salt keeps clients apart: a text starts from the keys and values of texts with the same Salt alone. Otherwise the
	// time until the first token shows a client whether a prompt of another one began like its own.
	Salt string
}

// Drawn is a token of a continuation.
type Drawn struct {
	Choice
	Top []Choice // the likeliest tokens, in order, if the request asks for them
}

// Choice is a token with ln softmax(z)ᵢ, its log-probability before penalty, temperature and cuts.
type Choice struct {
	ID      int
	LogProb float64
}

// mostQueued is the largest number of places in a queue.
const mostQueued = 1 << 16

// New returns a service that continues the texts of many clients with a network, such as [gpt.Model.Network]: texts
// join and leave a batch of the given number of lanes, and wait in a queue. The memory limit bounds the lanes, each
// with a full context. New returns an error if a layer of the network has no Step.
func New(n decode.Network, lanes, queue int) (*Service, error) {
	if queue < 0 || queue > mostQueued {
		return nil, errors.Errorf("service: queue: got %d places, want 0 to %d", queue, mostQueued)
	}
	l, err := newLanes(n, lanes)
	if err != nil {
		return nil, errors.Wrap(err, "service")
	}
	return &Service{
		lanes: l, places: make(chan struct{}, lanes+queue), wake: make(chan struct{}, 1),
		active: make([]*text, lanes), used: make([]int, lanes), ended: make(chan struct{}),
	}, nil
}

// Generate yields the tokens with which the text of r continues, as Run draws them. It ends after r.Tokens tokens,
// before a stop token, when a Rule of the sampler ends it, when the context of the network is full, or with an
// error, for example when ctx ends. The lane becomes free when the loop ends. Generate yields ErrFull if all lanes
// and places are taken.
func (s *Service) Generate(ctx context.Context, r Request) iter.Seq2[Drawn, error] {
	return func(yield func(Drawn, error) bool) {
		if err := s.check(ctx, r); err != nil {
			yield(Drawn{}, err)
			return
		}
		select {
		case s.places <- struct{}{}:
			defer func() { <-s.places }()
		default:
			yield(Drawn{}, ErrFull)
			return
		}
		ctx, leave := context.WithCancel(ctx)
		defer leave()
		t := newText(ctx, r, s.lanes.net)
		s.join(t)
		t.follow(ctx, s.ended, yield)
	}
}

// check returns an error for a request that cannot be continued.
func (s *Service) check(ctx context.Context, r Request) error {
	switch {
	case s == nil || s.lanes == nil:
		return errors.New("service: got nil, want one from New")
	case ctx == nil:
		return errors.New("context: got nil, want one such as context.Background()")
	case len(r.Prompt) == 0 || len(r.Prompt) > s.lanes.net.Context:
		return errors.Errorf("prompt: got %d tokens, want 1 to the context of %d", len(r.Prompt), s.lanes.net.Context)
	case r.Tokens < 0:
		return errors.Errorf("tokens: got %d to draw, want 0 or more", r.Tokens)
	case r.Top < 0 || r.Top > s.lanes.net.Choices():
		return errors.Errorf("top: got %d tokens to report, want 0 to the %d that are drawn",
			r.Top, s.lanes.net.Choices())
	}
	if err := s.lanes.net.CheckTokens(r.Prompt); err != nil {
		return errors.Wrap(err, "prompt")
	}
	if err := s.lanes.net.CheckTokens(r.Stop); err != nil {
		return errors.Wrap(err, "stop")
	}
	return r.Sampler.Validate()
}

// join puts a text into the queue.
func (s *Service) join(t *text) {
	s.mutex.Lock()
	s.queue = append(s.queue, t)
	s.mutex.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run draws the tokens of all requests until ctx ends. It may be called once.
func (s *Service) Run(ctx context.Context) error {
	switch {
	case ctx == nil:
		return errors.New("service: run: context: got nil, want one such as context.Background()")
	case s == nil || s.lanes == nil || !s.started.TryLock():
		return errors.New("service: run: want a new service from New")
	}
	defer close(s.ended)
	for ctx.Err() == nil {
		if s.admit() == 0 {
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		s.read()
		s.draw()
	}
	return context.Cause(ctx)
}

// admit frees the lanes of clients that have left, gives free lanes to texts of the queue, and returns the number of
// texts in lanes.
func (s *Service) admit() (n int) {
	for lane, t := range s.active {
		if t != nil && t.ctx.Err() != nil {
			s.end(lane, t.ctx.Err())
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for len(s.queue) > 0 {
		t := s.queue[0]
		lane, ok := s.lane(t.Request)
		if !ok {
			break
		}
		s.queue = s.queue[1:]
		if t.ctx.Err() == nil {
			s.begin(t, lane)
		}
	}
	for _, t := range s.active {
		if t != nil {
			n++
		}
	}
	return n
}

// lane returns the free lane that holds most of a prompt, of equal ones the one that was used least recently.
func (s *Service) lane(r Request) (best int, ok bool) {
	most := -1
	for lane, t := range s.active {
		if t != nil {
			continue
		}
		n := s.lanes.common(lane, r.Salt, r.Prompt)
		if n > most || n == most && s.used[lane] < s.used[best] {
			best, most = lane, n
		}
	}
	return best, most >= 0
}

// begin starts a text in a lane.
func (s *Service) begin(t *text, lane int) {
	s.time++
	s.active[lane], s.used[lane] = t, s.time
	held, err := s.lanes.begin(lane, t.Salt, t.Prompt)
	if err != nil {
		s.end(lane, err)
		return
	}
	t.unread = t.Prompt[held:]
	if t.left == 0 {
		s.end(lane, nil)
	}
}

// end ends the text of a lane, which becomes free.
func (s *Service) end(lane int, err error) {
	t := s.active[lane]
	s.active[lane] = nil
	t.err = err
	close(t.drawn)
}
