package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pkg/errors"
)

// reply is an answer in OpenAI's form.
type reply struct {
	*server
	request
	form     form
	exchange *exchange
	id       string
	created  int64
	style    style  // of calls of tools; nil without
	offsets  []int  // of the next token's text of each choice, in bytes
	spoke    []bool // a part of the choice has been sent
	begun    bool   // a part of the stream has been sent
	speak    func() // is called before anything is written: see presence
	leave    func() // gives back the places, before the client knows that its answer is complete
}

// complete answers requests of a form.
func (s *server) complete(newForm func() form) http.HandlerFunc {
	return func(w http.ResponseWriter, h *http.Request) {
		f := newForm()
		r := &reply{server: s, form: f, created: time.Now().Unix(), exchange: exchangeOf(w)}
		r.id = fmt.Sprintf("%s-%d-%d", f.kind(), r.created, s.count.Add(1))
		r.speak = func() {}
		err := s.try(h, func() error { return r.reply(w, h) })
		r.speak()
		switch {
		case err == nil || errors.Is(err, errLeft):
		case r.begun:
			r.send(s.failureOf(err).object())
		default:
			fail(w, s.failureOf(err))
		}
	}
}

// reply answers a request, or returns why not.
func (r *reply) reply(w http.ResponseWriter, h *http.Request) error {
	v, err := r.admit(w, h)
	r.speak = v.speak
	defer v.leave()
	if err != nil {
		return err
	}
	q, err := prepared(r.server, v, func(data []byte) (q question, err error) {
		r.request, q, err = r.question(v.ctx, data, r.form)
		r.note(r.ignored)
		return q, err
	})
	if err != nil {
		return program.Cause(v.ctx, err)
	}
	more, err := r.place(r.n - 1)
	if err != nil {
		return err
	}
	defer more()
	r.leave, r.offsets, r.spoke = func() { v.leave(); more() }, make([]int, r.n), make([]bool, r.n)
	r.exchange.reads(len(q.prompt))
	r.style = q.style
	if r.stream {
		return program.Cause(v.ctx, r.streams(v.ctx, h, q))
	}
	return program.Cause(v.ctx, r.whole(v.ctx, h, q))
}

func (s *server) stopped() failure {
	return failure{http.StatusServiceUnavailable, "server_error", "", "stopping", "the server is stopping"}
}

// failureOf returns the failure that an error is.
func (s *server) failureOf(err error) failure {
	var f failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, service.ErrFull):
		return s.full()
	case errors.Is(err, service.ErrStopped):
		return s.stopped()
	}
	return failure{http.StatusBadRequest, "invalid_request_error", "", "", err.Error()}
}

// total returns the answers with the numbers of their tokens.
func total(q question, all []answered, ends []ending) (_ []answered, u usage) {
	u.prompt = len(q.prompt)
	for i, e := range ends {
		all[i].ending = e
		u.drawn += e.drawn
	}
	return all, u
}

// whole answers in one piece.
func (r *reply) whole(ctx context.Context, h *http.Request, q question) error {
	all := make([]answered, r.n)
	ends, err := r.answers(ctx, h, q, func(i int, p part) error {
		all[i].text += p.text
		all[i].tokens, all[i].calls = append(all[i].tokens, p.tokens...), append(all[i].calls, p.calls...)
		return nil
	})
	r.leave()
	if err != nil {
		return err
	}
	all, u := total(q, all, ends)
	object := r.form.whole(r, all, u)
	r.speak()
	r.write(r.exchange, http.StatusOK, object) // a client that left is not an error
	return nil
}

// streams answers in pieces, as server-sent events.
func (r *reply) streams(ctx context.Context, h *http.Request, q question) error {
	ends, err := r.answers(ctx, h, q, func(i int, p part) error { return r.form.piece(r, i, p) })
	r.leave()
	if err != nil {
		return err
	}
	all, u := total(q, make([]answered, r.n), ends)
	return r.form.last(r, all, u)
}

// send writes an event of a stream.
func (r *reply) send(object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return r.event(fmt.Sprintf("data: %s\n\n", data))
}

// event writes the lines of an event.
func (r *reply) event(lines string) error {
	r.speak()
	w := r.exchange
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(r.patience)); err != nil {
		return errLeft
	}
	if !r.begun {
		r.begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
	}
	if _, err := io.WriteString(w, lines); err != nil || control.Flush() != nil {
		return errLeft
	}
	return nil
}

// object returns an object of a kind with choices.
func (r *reply) object(kind string, choices ...any) map[string]any {
	return map[string]any{"id": r.id, "object": kind, "created": r.created, "model": r.name, "choices": choices}
}

// chunk sends a choice of a stream.
func (r *reply) chunk(kind string, choice map[string]any) error {
	object := r.object(kind, choice)
	if r.streamUsage.IncludeUsage {
		object["usage"] = nil
	}
	return r.send(object)
}

// done ends a stream of chunks.
func (r *reply) done(kind string, u usage) error {
	if r.streamUsage.IncludeUsage {
		object := r.object(kind)
		object["choices"], object["usage"] = []any{}, u.object()
		if err := r.send(object); err != nil {
			return err
		}
	}
	return r.event("data: [DONE]\n\n")
}

// logprob returns a number that JSON can hold: OpenAI's for a probability of 0 is −9999.
func logprob(x float64) float64 {
	if math.IsNaN(x) {
		return -9999
	}
	return max(x, -9999)
}

// chatLogprobs returns the tokens with their log-probabilities as a chat does.
func (r *reply) chatLogprobs(tokens []token) []any {
	of := func(s string, x float64) map[string]any {
		bytes := make([]int, len(s))
		for i := range s {
			bytes[i] = int(s[i])
		}
		return map[string]any{"token": s, "logprob": logprob(x), "bytes": bytes}
	}
	list, tok := []any{}, r.speaks(r.style)
	for _, t := range tokens {
		top := []any{}
		for _, c := range t.Top {
			s, _ := tok.Decode([]int{c.ID})
			top = append(top, of(s, c.LogProb))
		}
		one := of(t.text, t.LogProb)
		one["top_logprobs"] = top
		list = append(list, one)
	}
	return list
}
