package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pkg/errors"
)

// reply is an answer in OpenAI's form, of a chat or of a text to continue.
type reply struct {
	*server
	request
	chat    bool
	id      string
	created int64
	offset  int    // of the next token's text, in bytes
	begun   bool   // a part of the stream has been sent
	speak   func() // is called before anything is written: see presence
	leave   func() // gives back the place, before the client knows that its answer is complete
}

// complete answers a request to complete a chat, or a text.
func (s *server) complete(chat bool) http.HandlerFunc {
	return func(w http.ResponseWriter, h *http.Request) {
		r := &reply{server: s, chat: chat, created: time.Now().Unix()}
		kind := "cmpl"
		if chat {
			kind = "chatcmpl"
		}
		r.id = fmt.Sprintf("%s-%d-%d", kind, r.created, s.count.Add(1))
		r.speak = func() {}
		err := s.try(h, func() error { return r.reply(w, h) })
		r.speak()
		switch {
		case err == nil || errors.Is(err, errLeft):
		case r.begun:
			r.send(w, s.failureOf(err).object())
		default:
			fail(w, s.failureOf(err))
		}
	}
}

// reply answers a request, or returns why not. The request is first admitted, then read and encoded, and then waits.
func (r *reply) reply(w http.ResponseWriter, h *http.Request) error {
	switch {
	case r.stopping.Load():
		return r.stopped()
	case len(r.admission.places) == cap(r.admission.places):
		serve.Unread(w)
		return r.full()
	}
	data, release, err := r.bodyOf(w, h)
	defer release()
	if err != nil {
		serve.Unread(w)
		return err
	}
	ctx, speak := presence(h)
	r.speak = speak
	if r.leave, err = r.place(); err != nil {
		return err
	}
	defer r.leave()
	q, err := r.prepared(ctx, data)
	release()
	switch {
	case err != nil:
	case r.stream:
		err = r.streams(ctx, w, q)
	default:
		err = r.whole(ctx, w, q)
	}
	return program.Cause(ctx, err)
}

// prepared reads the body of a request and returns its question, as soon as the budget has room for that.
func (r *reply) prepared(ctx context.Context, data []byte) (q question, err error) {
	finish, err := r.working(ctx, data)
	if err != nil {
		return q, err
	}
	defer finish()
	r.request, q, err = r.question(ctx, data, r.chat)
	r.note(r.ignored)
	return q, err
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

// whole answers in one piece.
func (r *reply) whole(ctx context.Context, w http.ResponseWriter, q question) error {
	var all part
	drawn, finish, err := r.answer(ctx, q, func(p part) error {
		all.text += p.text
		all.tokens = append(all.tokens, p.tokens...)
		return nil
	})
	r.leave()
	if err != nil {
		return err
	}
	choice := r.choice(all, finish)
	if r.chat {
		choice["message"] = map[string]any{"role": "assistant", "content": all.text, "refusal": nil}
	}
	object := r.object(choice)
	object["usage"] = usage(len(q.prompt), drawn)
	r.speak()
	r.write(w, http.StatusOK, object) // a client that left is not an error
	return nil
}

// send writes an event of a stream.
func (r *reply) send(w http.ResponseWriter, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	r.speak()
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(r.patience)); err != nil {
		return errLeft
	}
	if !r.begun {
		r.begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil || control.Flush() != nil {
		return errLeft
	}
	return nil
}

// streams answers in pieces, as server-sent events.
func (r *reply) streams(ctx context.Context, w http.ResponseWriter, q question) error {
	chunk := func(p part, finish any) error {
		choice := r.choice(p, finish)
		if r.chat {
			delta := map[string]any{}
			if !r.begun {
				delta["role"] = "assistant"
			}
			if finish == nil {
				delta["content"] = p.text
			}
			choice["delta"] = delta
		}
		object := r.object(choice)
		if r.streamUsage.IncludeUsage {
			object["usage"] = nil
		}
		return r.send(w, object)
	}
	drawn, finish, err := r.answer(ctx, q, func(p part) error { return chunk(p, nil) })
	r.leave()
	if err == nil {
		err = chunk(part{}, finish)
	}
	if err == nil && r.streamUsage.IncludeUsage {
		object := r.object(nil)
		object["choices"], object["usage"] = []any{}, usage(len(q.prompt), drawn)
		err = r.send(w, object)
	}
	if err == nil {
		_, err = w.Write([]byte("data: [DONE]\n\n"))
	}
	return err
}

func usage(prompt, drawn int) map[string]any {
	return map[string]any{"prompt_tokens": prompt, "completion_tokens": drawn, "total_tokens": prompt + drawn}
}

// object returns an object with a choice.
func (r *reply) object(choice map[string]any) map[string]any {
	kind := "text_completion"
	switch {
	case r.chat && r.stream:
		kind = "chat.completion.chunk"
	case r.chat:
		kind = "chat.completion"
	}
	return map[string]any{
		"id": r.id, "object": kind, "created": r.created, "model": r.name, "choices": []any{choice},
	}
}

// choice returns the one choice with a part of the answer, except for its message or delta.
func (r *reply) choice(p part, finish any) map[string]any {
	choice := map[string]any{"index": 0, "finish_reason": finish, "logprobs": nil}
	switch {
	case r.logprobs && r.chat:
		choice["logprobs"] = map[string]any{"content": r.chatLogprobs(p.tokens), "refusal": nil}
	case r.logprobs:
		choice["logprobs"] = r.textLogprobs(p.tokens)
	}
	if !r.chat {
		choice["text"] = p.text
	}
	return choice
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
	list := []any{}
	for _, t := range tokens {
		top := []any{}
		for _, c := range t.Top {
			s, _ := r.tok.Decode([]int{c.ID})
			top = append(top, of(s, c.LogProb))
		}
		one := of(t.text, t.LogProb)
		one["top_logprobs"] = top
		list = append(list, one)
	}
	return list
}

// textLogprobs returns the tokens with their log-probabilities as the completion of a text does.
func (r *reply) textLogprobs(tokens []token) map[string]any {
	names, probs, tops, offsets := []string{}, []float64{}, []any{}, []int{}
	for _, t := range tokens {
		top := map[string]float64{}
		for _, c := range t.Top {
			s, _ := r.tok.Decode([]int{c.ID})
			top[s] = logprob(c.LogProb)
		}
		names, probs = append(names, t.text), append(probs, logprob(t.LogProb))
		tops, offsets = append(tops, top), append(offsets, r.offset)
		r.offset += len(t.text)
	}
	return map[string]any{
		"tokens": names, "token_logprobs": probs, "top_logprobs": tops, "text_offset": slices.Clip(offsets),
	}
}
