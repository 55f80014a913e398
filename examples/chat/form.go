package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// form describes a kind of requests and their answers.
type form interface {
	// kind returns the word with which the names of answers begin.
	kind() string
	// keys returns, for every key that only this form reads, where its value is stored.
	keys(r *request) map[string]any
	// check returns an error for a request that cannot be answered.
	check(r *request) error
	// prompt returns the tokens of the prompt, and the key that holds it.
	prompt(ctx context.Context, s *server, r *request, q question) (ids []int, key string, err error)
	// whole returns the object of complete answers.
	whole(r *reply, all []answered, u usage) any
	// piece sends a part of an answer in a stream.
	piece(r *reply, i int, p part) error
	// last sends what ends a stream.
	last(r *reply, all []answered, u usage) error
}

// answered is an answer.
type answered struct {
	part
	ending
}

// usage holds the numbers of tokens of a prompt and its answers.
type usage struct{ prompt, drawn int }

// object returns the numbers in OpenAI's form.
func (u usage) object() map[string]any {
	return map[string]any{
		"prompt_tokens": u.prompt, "completion_tokens": u.drawn, "total_tokens": u.prompt + u.drawn,
	}
}

// talk is the form of /v1/chat/completions.
type talk struct{}

func (talk) kind() string { return "chatcmpl" }

func (talk) keys(r *request) map[string]any {
	return map[string]any{
		"messages": &r.messages, "max_completion_tokens": &r.tokens, "logprobs": &r.logprobs,
		"top_logprobs": &r.likeliest, "n": &r.n, "tools": &r.toolList, "tool_choice": &r.toolChoice,
		"functions": &r.functions, "function_call": &r.functionCall,
	}
}

func (talk) check(r *request) (err error) {
	if r.tools, err = readTools(r.toolList); err != nil {
		return err
	}
	if err := r.readFunctions(); err != nil {
		return err
	}
	switch {
	case r.likeliest < 0 || r.likeliest > 20:
		return invalid("top_logprobs", "got %d, want 0 to 20", r.likeliest)
	case r.likeliest > 0 && !r.logprobs:
		return invalid("top_logprobs", "got %d without logprobs", r.likeliest)
	case len(r.messages) == 0:
		return invalid("messages", "got none, want 1 or more")
	}
	return nil
}

func (talk) prompt(ctx context.Context, s *server, r *request, q question) (ids []int, key string, err error) {
	messages, err := r.conversation()
	if err == nil {
		err = s.writesCalls(messages)
	}
	if err == nil {
		ids, err = s.engine.prompt(ctx, messages, q.tools, r.tokens, s.options.cut)
	}
	return ids, "messages", err
}

// choice returns a choice with a part of an answer, except for its message or delta.
func (talk) choice(r *reply, i int, p part, finish any) map[string]any {
	if finish == atCalls {
		finish = r.calls.finish()
	}
	choice := map[string]any{"index": i, "finish_reason": finish, "logprobs": nil}
	if r.logprobs {
		choice["logprobs"] = map[string]any{"content": r.chatLogprobs(p.tokens), "refusal": nil}
	}
	return choice
}

// callID returns the name of the j-th call of the i-th choice.
func (r *reply) callID(i, j int) string {
	return fmt.Sprintf("call_%s_%d_%d", strings.TrimPrefix(r.id, r.form.kind()+"-"), i, j)
}

func (f talk) whole(r *reply, all []answered, u usage) any {
	var choices []any
	for i, a := range all {
		choice := f.choice(r, i, a.part, a.finish)
		message := map[string]any{"role": "assistant", "content": a.text, "refusal": nil}
		if len(a.calls) > 0 {
			r.calls.add(message, r, i, a.calls, false)
			if a.text == "" {
				message["content"] = nil
			}
		}
		choice["message"] = message
		choices = append(choices, choice)
	}
	object := r.object("chat.completion", choices...)
	object["usage"] = u.object()
	return object
}

// chunk sends a choice of a stream.
func (f talk) chunk(r *reply, i int, p part, finish any) error {
	choice, delta := f.choice(r, i, p, finish), map[string]any{}
	if !r.spoke[i] {
		r.spoke[i] = true
		delta["role"] = "assistant"
	}
	switch {
	case len(p.calls) > 0:
		r.calls.add(delta, r, i, p.calls, true)
	case finish == nil:
		delta["content"] = p.text
	}
	choice["delta"] = delta
	return r.chunk("chat.completion.chunk", choice)
}

func (f talk) piece(r *reply, i int, p part) error { return f.chunk(r, i, p, nil) }

func (f talk) last(r *reply, all []answered, u usage) error {
	for i, a := range all {
		if err := f.chunk(r, i, part{}, a.finish); err != nil {
			return err
		}
	}
	return r.done("chat.completion.chunk", u)
}

// continuation is the form of /v1/completions.
type continuation struct{}

func (continuation) kind() string { return "cmpl" }

func (continuation) keys(r *request) map[string]any {
	return map[string]any{"prompt": &r.text, "logprobs": &r.likely, "n": &r.n, "echo": &r.echo}
}

func (continuation) check(r *request) error {
	if r.likely != nil {
		r.likeliest, r.logprobs = *r.likely, true
	}
	switch {
	case r.likeliest < 0 || r.likeliest > 5:
		return invalid("logprobs", "got %d, want 0 to 5", r.likeliest)
	case len(r.text) == 0:
		return invalid("prompt", "got none, want a text")
	}
	return nil
}

func (continuation) prompt(_ context.Context, s *server, r *request, _ question) (ids []int, key string, err error) {
	if ids, err = s.begins("prompt", r.text); err == nil {
		ids, err = s.continues(ids, r.tokens, s.options.cut)
	}
	return ids, "prompt", err
}

// choice returns a choice with a part of an answer.
func (continuation) choice(r *reply, i int, p part, finish any) map[string]any {
	choice := map[string]any{"index": i, "finish_reason": finish, "logprobs": nil, "text": p.text}
	if r.logprobs {
		choice["logprobs"] = r.textLogprobs(i, p.tokens)
	}
	return choice
}

func (f continuation) whole(r *reply, all []answered, u usage) any {
	var choices []any
	for i, a := range all {
		choices = append(choices, f.choice(r, i, a.part, a.finish))
	}
	object := r.object("text_completion", choices...)
	object["usage"] = u.object()
	return object
}

func (f continuation) piece(r *reply, i int, p part) error {
	return r.chunk("text_completion", f.choice(r, i, p, nil))
}

func (f continuation) last(r *reply, all []answered, u usage) error {
	for i, a := range all {
		if err := r.chunk("text_completion", f.choice(r, i, part{}, a.finish)); err != nil {
			return err
		}
	}
	return r.done("text_completion", u)
}

// textLogprobs returns the tokens with their log-probabilities as the completion of a text does. The first token of a
// prompt, whose log-probability is NaN, has null.
func (r *reply) textLogprobs(i int, tokens []token) map[string]any {
	names, probs, tops, offsets, tok := []string{}, []any{}, []any{}, []int{}, r.speaks(r.style)
	for _, t := range tokens {
		top := map[string]float64{}
		for _, c := range t.Top {
			s, _ := tok.Decode([]int{c.ID})
			top[s] = logprob(c.LogProb)
		}
		names, offsets = append(names, t.text), append(offsets, r.offsets[i])
		if math.IsNaN(t.LogProb) {
			probs, tops = append(probs, nil), append(tops, nil)
		} else {
			probs, tops = append(probs, logprob(t.LogProb)), append(tops, top)
		}
		r.offsets[i] += len(t.text)
	}
	return map[string]any{
		"tokens": names, "token_logprobs": probs, "top_logprobs": tops, "text_offset": slices.Clip(offsets),
	}
}
