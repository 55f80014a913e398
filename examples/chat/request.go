package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pkg/errors"
)

// request is a request for answers, in OpenAI's keys.
type request struct {
	model        string
	messages     json.RawMessage
	text         json.RawMessage // prompt
	sampling     sampling
	seed         *int64
	stop         json.RawMessage
	tokens       int
	n            int // answers
	bias         map[int]float64
	echo         bool
	format       json.RawMessage // response_format
	toolList     json.RawMessage // tools
	toolChoice   json.RawMessage
	tools        []tool
	functions    json.RawMessage // the older form of tools
	functionCall json.RawMessage // and of tool_choice
	calls        callForm
	likeliest    int  // top_logprobs, or logprobs of /v1/completions
	likely       *int // logprobs of /v1/completions
	logprobs     bool
	stream       bool
	ignored      map[string]bool // keys
	salt         *string         // cache_salt
	streamUsage  struct {
		IncludeUsage bool `json:"include_usage"`
	}
}

// keys returns, for every key that all forms read, where its value is stored.
func (r *request) keys() map[string]any {
	return map[string]any{
		"model": &r.model, "stream": &r.stream, "stream_options": &r.streamUsage, "stop": &r.stop, "seed": &r.seed,
		"max_tokens": &r.tokens, "temperature": &r.sampling.Temperature, "top_p": &r.sampling.TopP,
		"top_k": &r.sampling.TopK, "min_p": &r.sampling.MinP, "repetition_penalty": &r.sampling.Repetition,
		"frequency_penalty": &r.sampling.frequency, "presence_penalty": &r.sampling.presence, "cache_salt": &r.salt,
		"logit_bias": &r.bias, "response_format": &r.format,
	}
}

// neutral lists keys that would change an answer, with the values that do not.
func neutral() map[string][]string {
	return map[string][]string{
		"tools": {`[]`}, "tool_choice": {`"none"`, `"auto"`},
		"functions": {`[]`}, "function_call": {`"none"`, `"auto"`},
		"modalities": {`["text"]`},
		"n":          {`1`}, "best_of": {`1`}, "echo": {`false`}, "suffix": {`""`}, "options": {`{}`},
		"include": {`[]`}, "background": {`false`}, "truncation": {`"disabled"`},
	}
}

// harmless lists keys that are ignored, with a word in the log: they change no answer, or, like reasoning_effort, the
// answers of other models alone.
func harmless() []string {
	return []string{"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key",
		"prompt_cache_retention", "parallel_tool_calls", "reasoning", "reasoning_effort", "verbosity", "keep_alive"}
}

// invalid returns the failure of a key.
func invalid(key, format string, args ...any) failure {
	return failure{http.StatusBadRequest, "invalid_request_error", key, "", key + ": " + fmt.Sprintf(format, args...)}
}

// read reads a request. Keys and values that are not understood are refused by name.
func (s *server) read(data []byte, f form) (r request, err error) {
	r.n, r.tokens, r.sampling, r.ignored = 1, s.options.tokens, s.options.sampling, map[string]bool{}
	keys := r.keys()
	maps.Copy(keys, f.keys(&r))
	if err := fill(data, keys, neutral(), r.ignored); err != nil {
		return r, err
	}
	if r.model != "" && !slices.Contains(s.names, r.model) {
		return r, s.noModel(r.model)
	}
	if r.seed != nil {
		r.sampling.seed = max(1, uint64(*r.seed)) // 0 means another one for each answer
	}
	if err := f.check(&r); err != nil {
		return r, err
	}
	return r, s.check(&r)
}

// fill fills the places of keys with the values of an object. A key that would change an answer is refused unless its
// value is neutral, and those that are ignored are noted.
func fill(data []byte, keys map[string]any, neutral map[string][]string, ignored map[string]bool) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil || all == nil {
		return failure{http.StatusBadRequest, "invalid_request_error", "", "", "the body is not an object of JSON"}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		raw := all[key]
		to, known := keys[key]
		switch {
		case string(raw) == "null":
		case slices.Contains(harmless(), key):
			ignored[key] = true
		case known:
			if err := json.Unmarshal(raw, to); err != nil {
				return invalid(key, "got %s, which is not of its type", clipped(raw))
			}
		case neutral[key] != nil:
			var plain bytes.Buffer
			if json.Compact(&plain, raw) != nil || !slices.Contains(neutral[key], plain.String()) {
				return invalid(key, "got %s; this server can only do without it", clipped(raw))
			}
		default:
			return invalid(fmt.Sprintf("%.64s", key), "this server has no such key")
		}
	}
	return nil
}

// clipped returns the beginning of a value.
func clipped(raw json.RawMessage) string {
	if len(raw) > 64 {
		return string(raw[:64]) + "…"
	}
	return string(raw)
}

// check returns an error for a request of any form that cannot be answered.
func (s *server) check(r *request) error {
	for name, got := range map[string]float64{
		"frequency_penalty": r.sampling.frequency, "presence_penalty": r.sampling.presence,
	} {
		if !(got >= -2 && got <= 2) {
			return invalid(name, "got %v, want -2 to 2", got)
		}
	}
	least := 1
	if r.echo {
		least = 0
	}
	switch most := min(mostChoices, cap(s.admission.places)); {
	case r.tokens < least || r.tokens > mostTokens:
		return invalid("max_tokens", "got %d, want %d to %d", r.tokens, least, mostTokens)
	case r.n < 1 || r.n > most:
		return invalid("n", "got %d, want 1 to %d", r.n, most)
	case r.salt != nil && *r.salt == "":
		return invalid("cache_salt", "got an empty text, want a secret of the client")
	}
	for id, bias := range r.bias {
		if id < 0 || id >= s.tok.Size() || !(bias >= -100 && bias <= 100) {
			return invalid("logit_bias", "got %v for the token %d, want -100 to 100 for tokens of 0 … %d",
				bias, id, s.tok.Size()-1)
		}
	}
	if err := r.sampling.sampler().Validate(); err != nil {
		return failure{http.StatusBadRequest, "invalid_request_error", "", "", err.Error()}
	}
	return nil
}

// stops returns the texts of stop: one, or a list of up to four.
func (r *request) stops() (list []string, err error) {
	if len(r.stop) > 0 && r.stop[0] == '"' {
		list = make([]string, 1)
		err = json.Unmarshal(r.stop, &list[0])
	} else if len(r.stop) > 0 {
		err = json.Unmarshal(r.stop, &list)
	}
	if err != nil || len(list) > 4 || slices.Contains(list, "") {
		return nil, invalid("stop", "got %s, want a text or a list of at most 4, none of them empty", clipped(r.stop))
	}
	return list, nil
}

// conversation returns the messages. It reads one after the other, because thousands of them may be empty.
func (r *request) conversation() (list []chat.Message, err error) {
	d := json.NewDecoder(bytes.NewReader(r.messages))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, invalid("messages", "got %s, want a list", clipped(r.messages))
	}
	for d.More() {
		at := fmt.Sprintf("messages[%d]", len(list))
		var keys map[string]json.RawMessage
		if err := d.Decode(&keys); err != nil {
			return nil, invalid(at, "want an object")
		}
		m, err := r.message(at, keys)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return nil, invalid("messages", "got none, want 1 or more")
	}
	return list, nil
}

// message returns the message with these keys.
func (r *request) message(at string, keys map[string]json.RawMessage) (m chat.Message, err error) {
	if raw, given := keys["role"]; given && json.Unmarshal(raw, &m.Role) != nil {
		return m, invalid(at+".role", "got %s, want a text", clipped(raw))
	}
	switch m.Role {
	case "developer": // OpenAI's newer name
		m.Role = "system"
	case "function":
		m.Role = "tool"
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch raw := keys[key]; {
		case key == "role" || string(raw) == "null":
		case key == "content":
			if m.Content, err = content(raw); err != nil {
				return m, invalid(at+".content", "%v", err)
			}
		case key == "annotations" && string(raw) == "[]":
		case key == "tool_calls" && m.Role == "assistant":
			if m.Calls, err = called(at+".tool_calls", raw); err != nil {
				return m, err
			}
		case key == "function_call" && m.Role == "assistant":
			if m.Calls, err = called(at, json.RawMessage(`[{"function":`+string(raw)+`}]`)); err != nil {
				return m, err
			}
		case key == "tool_calls" && string(raw) == "[]":
		case key == "tool_call_id" && m.Role == "tool":
			if json.Unmarshal(raw, &m.Answers) != nil {
				return m, invalid(at+".tool_call_id", "got %s, want a text", clipped(raw))
			}
		case key == "name":
			r.ignored["messages.name"] = true
		default:
			return m, invalid(fmt.Sprintf("%s.%.64s", at, key), "this server has no such key")
		}
	}
	return m, nil
}

// content reads a text, or a list of parts that are texts.
func content(raw json.RawMessage) (string, error) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", errors.Errorf("got %s, want a text or a list of parts", clipped(raw))
	}
	for _, p := range parts {
		if !slices.Contains([]string{"text", "input_text", "output_text"}, p.Type) || p.Text == nil {
			return "", errors.Errorf("got a part of type %.32q, want text: the model reads nothing else", p.Type)
		}
		s += *p.Text
	}
	return s, nil
}

// begins returns the tokens of a key's value. A text becomes tokens, after the token with which texts begin. A list of
// tokens stays as it is.
func (s *server) begins(key string, raw json.RawMessage) ([]int, error) {
	var one string
	var list []string
	var ids []int
	switch {
	case json.Unmarshal(raw, &one) == nil:
	case json.Unmarshal(raw, &ids) == nil && len(ids) > 0:
		for _, id := range ids {
			if id < 0 || id >= s.tok.Size() {
				return nil, invalid(key, "got the token %d, not in 0 … %d", id, s.tok.Size()-1)
			}
		}
		return ids, nil
	case json.Unmarshal(raw, &list) != nil || len(list) == 0:
		return nil, invalid(key, "got %s, want a text or a list of tokens", clipped(raw))
	case len(list) > 1:
		return nil, invalid(key, "got %d texts, want one for each request", len(list))
	default:
		one = list[0]
	}
	ids, err := s.template.Prompt(s.tok, one)
	if err == nil && len(ids) == 0 {
		err = errors.New("empty, want at least one character")
	}
	if err != nil {
		return nil, invalid(key, "%v", err)
	}
	return ids, nil
}

// question reads the body of a request, and returns the request with its prompt and its samplers.
func (s *server) question(ctx context.Context, data []byte, f form) (r request, q question, err error) {
	if r, err = s.read(data, f); err != nil {
		return r, q, err
	}
	q.tokens, q.top, q.sampling, q.bias = r.tokens, min(r.likeliest, s.tok.Size()), r.sampling, r.bias
	q.grammarKey = "response_format"
	if q.grammar, err = formatted(r.format); err != nil {
		return r, q, err
	}
	switch {
	case r.salt != nil:
		q.salt = *r.salt
	case s.options.isolate:
		q.salt = rand.Text()
	}
	if q.stop, err = r.stops(); err != nil {
		return r, q, err
	}
	var key string
	if err = s.equip(&r, &q); err != nil {
		return r, q, err
	}
	q.prompt, key, err = f.prompt(ctx, s, &r, q)
	if long := (errTooLong{}); errors.As(err, &long) {
		err = failure{http.StatusBadRequest, "invalid_request_error", key, "context_length_exceeded", long.Error()}
	}
	if err == nil && r.echo {
		if q.echo, err = s.echoes(q.prompt); err == nil && r.logprobs {
			q.echoed, err = s.score(ctx, q.prompt, q.top)
		}
	}
	if err == nil && q.grammar != nil {
		_, err = s.choice(q, 0) // an error of the grammar is one of the request
	}
	r.messages, r.text, r.format = nil, nil, nil // the answer needs their memory no more
	r.toolList, r.functions, r.tools, q.tools = nil, nil, nil, nil
	return r, q, err
}

// echoes returns the text of a prompt.
func (s *server) echoes(ids []int) (string, error) { return s.speaks(nil).Decode(ids) }
