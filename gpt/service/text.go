package service

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
	"github.com/pkg/errors"
)

// text is a request with its progress.
type text struct {
	Request
	ctx    context.Context
	unread []int       // tokens to feed before the next one is drawn; at least one
	seen   search.Seen // the tokens of the text, for a repetition penalty
	left   int         // number of tokens still to draw
	drawn  chan Drawn  // has room for all tokens, so that a slow client holds up no other
	err    error       // set before drawn is closed
}

func newText(ctx context.Context, r Request, n decode.Network) *text {
	r.Tokens = min(r.Tokens, n.Context-len(r.Prompt)+1)
	t := &text{
		Request: r, ctx: ctx, left: r.Tokens, drawn: make(chan Drawn, r.Tokens),
		seen: search.NewSeen(n.Choices()),
	}
	t.seen.Add(r.Prompt...)
	return t
}

// follow yields the tokens of t until it or the service ends.
func (t *text) follow(ctx context.Context, ended <-chan struct{}, yield func(Drawn, error) bool) {
	for {
		select {
		case d, ok := <-t.drawn:
			if !ok {
				if t.err != nil {
					yield(Drawn{}, t.err)
				}
				return
			}
			if !yield(d, nil) {
				return
			}
		case <-ctx.Done():
			yield(Drawn{}, context.Cause(ctx))
			return
		case <-ended:
			yield(Drawn{}, ErrStopped)
			return
		}
	}
}

// take draws the next token from the logits z, and reports whether the text goes on.
func (t *text) take(z graph.Tensor) (more bool, err error) {
	id, err := t.Sampler.Draw(z, t.seen.IDs()...)
	if errors.Is(err, search.ErrEnd) {
		return false, nil
	}
	if err != nil || slices.Contains(t.Stop, id) {
		return false, err
	}
	d := Drawn{Choice: Choice{id, t.Sampler.LogProb()}}
	if t.Top > 0 {
		d.Top = likeliest(z, t.Top)
	}
	t.drawn <- d
	t.seen.Add(id)
	t.left--
	t.unread = append(t.unread[:0:0], id)
	return t.left > 0, nil
}

// likeliest returns the n tokens with the largest logits in order, the first ones among equals.
func likeliest(z graph.Tensor, n int) []Choice {
	top, sum := math.Inf(-1), 0.0
	for i := range z.Len() {
		top = max(top, z.At(i))
	}
	list := make([]Choice, z.Len())
	for i := range list {
		sum += elementary.Exp(z.At(i) - top)
		list[i] = Choice{i, z.At(i) - top}
	}
	slices.SortStableFunc(list, func(a, b Choice) int { return cmp.Compare(b.LogProb, a.LogProb) })
	list = slices.Clone(list[:n])
	for i := range list {
		list[i].LogProb -= elementary.Log(sum)
	}
	return list
}

// Score returns a token with ln softmax(z)ᵢ of the logits z (V), and the given number of likeliest tokens in order.
func Score(z graph.Tensor, id, top int) (Drawn, error) {
	if id < 0 || id >= z.Len() || top < 0 || top > z.Len() {
		return Drawn{}, errors.Errorf("score: got token %d and %d likeliest of %d logits, want 0 to %d and 0 to %d",
			id, top, z.Len(), z.Len()-1, z.Len())
	}
	if err := z.Finite("logits"); err != nil {
		return Drawn{}, errors.Wrap(err, "score")
	}
	all := likeliest(z, z.Len())
	at := slices.IndexFunc(all, func(c Choice) bool { return c.ID == id })
	return Drawn{Choice: all[at], Top: all[:top:top]}, nil
}

// pace divides the time between prompts and the texts that are being written.
type pace struct{ step time.Duration } // of the last step of the latter

// promptShare is the number of times longer that prompts may be read than the other texts then take for a token.
const promptShare = 5

// read feeds pieces of prompts, the earliest texts' first. While other texts are being written it stops when it has
// taken promptShare of their steps.
func (s *Service) read() {
	start := time.Now()
	for {
		lane, writing := s.earliest()
		if lane < 0 || writing && time.Since(start) > promptShare*s.pace.step {
			return
		}
		t := s.active[lane]
		piece := t.unread[:min(decode.Few, len(t.unread)-1)]
		if err := s.lanes.read(lane, piece); err != nil {
			s.end(lane, err)
			continue
		}
		t.unread = t.unread[len(piece):]
		if t.ctx.Err() != nil {
			s.end(lane, t.ctx.Err())
		}
	}
}

// earliest returns the lane of the earliest text whose prompt has not been read, or −1, and reports whether other texts
// are being written.
func (s *Service) earliest() (lane int, writing bool) {
	lane = -1
	for l, t := range s.active {
		switch {
		case t == nil:
		case len(t.unread) == 1:
			writing = true
		case lane < 0 || s.used[l] < s.used[lane]:
			lane = l
		}
	}
	return lane, writing
}

// draw draws the next token of every text whose prompt has been read.
func (s *Service) draw() {
	start := time.Now()
	var list, tokens []int
	for lane, t := range s.active {
		if t != nil && len(t.unread) == 1 {
			list, tokens = append(list, lane), append(tokens, t.unread[0])
		}
	}
	if len(list) == 0 {
		return
	}
	logits, err := s.lanes.feed(list, tokens)
	choices := s.lanes.net.Choices()
	more, failed := make([]bool, len(list)), make([]error, len(list))
	var group sync.WaitGroup
	for i, lane := range list {
		if failed[i] = err; err == nil { // a sampler goes through the entire vocabulary
			group.Go(func() { more[i], failed[i] = s.active[lane].take(search.First(logits.Row(i), choices)) })
		}
	}
	group.Wait()
	for i, lane := range list {
		failed[i] = s.lanes.origin(failed[i], len(list))
		if failed[i] != nil || !more[i] {
			s.end(lane, failed[i])
		}
	}
	s.pace.step = time.Since(start)
}
