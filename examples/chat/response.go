package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// response is the form of /v1/responses, for one request. Nothing is stored: a conversation is sent as a whole.
type response struct {
	instructions string
	text         struct {
		Format    json.RawMessage `json:"format"`
		Verbosity json.RawMessage `json:"verbosity"` // for other models
	}
	items  []map[string]any // of the output
	said   string           // text of the message
	opened bool             // the message has begun in the stream
	events int
}

func (*response) kind() string { return "resp" }

func (f *response) keys(r *request) map[string]any {
	return map[string]any{
		"input": &r.text, "instructions": &f.instructions, "max_output_tokens": &r.tokens, "text": &f.text,
		"tools": &r.toolList, "tool_choice": &r.toolChoice,
	}
}

func (f *response) check(r *request) error {
	var flat struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	if len(f.text.Format) > 0 {
		if err := json.Unmarshal(f.text.Format, &flat); err != nil {
			return invalid("text.format", "got %s, want an object", clipped(f.text.Format))
		}
		r.format = f.text.Format
		if flat.Type == "json_schema" {
			nested := map[string]any{"type": flat.Type, "json_schema": map[string]any{"schema": flat.Schema}}
			r.format, _ = json.Marshal(nested) // it was read as JSON
		}
	}
	if len(r.text) == 0 {
		return invalid("input", "got none, want a text or a list")
	}
	var tools []struct {
		Type string `json:"type"`
		function
	}
	if len(r.toolList) > 0 {
		if err := json.Unmarshal(r.toolList, &tools); err != nil || len(tools) > mostTools {
			return invalid("tools", "got %s, want a list of at most %d tools", clipped(r.toolList), mostTools)
		}
	}
	for i, one := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		if one.Type != "function" {
			return invalid(at+".type", "got %.32q, want function", one.Type)
		}
		t, err := toolOf(at, one.function)
		if err != nil {
			return err
		}
		r.tools = append(r.tools, t)
	}
	return nil
}

func (f *response) prompt(ctx context.Context, s *server, r *request, q question) (ids []int, key string, err error) {
	messages, err := f.messages(r)
	if err == nil {
		err = s.writesCalls(messages)
	}
	if err == nil {
		ids, err = s.engine.prompt(ctx, messages, q.tools, r.tokens, s.options.cut)
	}
	return ids, "input", err
}

// messages returns the conversation of the input, after the instructions.
func (f *response) messages(r *request) (list []chat.Message, err error) {
	if f.instructions != "" {
		list = append(list, chat.Message{Role: "system", Content: f.instructions})
	}
	var said string
	if json.Unmarshal(r.text, &said) == nil {
		return append(list, chat.Message{Role: "user", Content: said}), nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(r.text, &all); err != nil || len(all) == 0 {
		return nil, invalid("input", "got %s, want a text or a list", clipped(r.text))
	}
	for i, raw := range all {
		m, err := f.message(fmt.Sprintf("input[%d]", i), raw)
		if err != nil {
			return nil, err
		}
		n := len(list)
		switch {
		case m.Role == "system" && n == 1 && list[0].Role == "system": // after the instructions
			list[0].Content += "\n\n" + m.Content
		case len(m.Calls) > 0 && n > 0 && list[n-1].Role == "assistant": // of one turn
			list[n-1].Calls = append(list[n-1].Calls, m.Calls...)
		default:
			list = append(list, m)
		}
	}
	return list, nil
}

// message returns the message of an item of the input.
func (f *response) message(at string, raw json.RawMessage) (m chat.Message, err error) {
	var item struct {
		Type, Role string
		Content    json.RawMessage
		CallID     string `json:"call_id"`
		Name       string
		Arguments  string
		Output     json.RawMessage
	}
	if err := json.Unmarshal(raw, &item); err != nil {
		return m, invalid(at, "got %s, want an object", clipped(raw))
	}
	switch item.Type {
	case "", "message":
		m.Role = item.Role
		if m.Role == "developer" {
			m.Role = "system"
		}
		if m.Content, err = content(item.Content); err != nil {
			err = invalid(at+".content", "%v", err)
		}
	case "function_call":
		m.Role, m.Calls = "assistant", make([]chat.Call, 1)
		m.Calls[0], err = callOf(at, item.CallID, item.Name, item.Arguments)
	case "function_call_output":
		m.Role, m.Answers = "tool", item.CallID
		if m.Content, err = content(item.Output); err != nil {
			err = invalid(at+".output", "%v", err)
		}
	default:
		err = invalid(at+".type", "got %.32q, want message, function_call or function_call_output", item.Type)
	}
	return m, err
}

// item returns the object of the message of an answer.
func (f *response) item(r *reply, text, status string) map[string]any {
	parts := []any{}
	if status != "in_progress" {
		parts = append(parts, f.part(text))
	}
	return map[string]any{
		"type": "message", "id": "msg_" + r.id, "status": status, "role": "assistant", "content": parts,
	}
}

// part returns the object of a text.
func (*response) part(text string) map[string]any {
	return map[string]any{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
}

// call returns the object of a call.
func (*response) call(r *reply, j int, c chat.Call, arguments, status string) map[string]any {
	return map[string]any{
		"type": "function_call", "id": fmt.Sprintf("fc_%s_%d", r.id, j), "call_id": r.callID(0, j), "name": c.Name,
		"arguments": arguments, "status": status,
	}
}

// object returns the object of the answer with its output.
func (f *response) object(r *reply, status string, u *usage) map[string]any {
	o := map[string]any{
		"id": r.id, "object": "response", "created_at": r.created, "model": r.name, "status": status, "error": nil,
		"incomplete_details": nil, "instructions": nil, "output": f.items, "parallel_tool_calls": true,
		"temperature": r.sampling.Temperature, "top_p": r.sampling.TopP, "tool_choice": "auto", "tools": []any{},
		"max_output_tokens": r.tokens, "previous_response_id": nil, "metadata": map[string]any{}, "usage": nil,
		"text": map[string]any{"format": map[string]any{"type": "text"}}, "truncation": "disabled",
	}
	if f.instructions != "" {
		o["instructions"] = f.instructions
	}
	if f.items == nil {
		o["output"] = []any{}
	}
	if status == "incomplete" {
		o["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
	}
	if u != nil {
		o["usage"] = map[string]any{
			"input_tokens": u.prompt, "input_tokens_details": map[string]any{"cached_tokens": 0},
			"output_tokens": u.drawn, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
			"total_tokens": u.prompt + u.drawn,
		}
	}
	return o
}

// status returns the status of an answer.
func (*response) status(a answered) string {
	if a.finish == atLength {
		return "incomplete"
	}
	return "completed"
}

func (f *response) whole(r *reply, all []answered, u usage) any {
	a := all[0]
	if a.text != "" || len(a.calls) == 0 {
		f.items = append(f.items, f.item(r, a.text, f.status(a)))
	}
	for j, c := range a.calls {
		f.items = append(f.items, f.call(r, j, c, string(c.Arguments), "completed"))
	}
	return f.object(r, f.status(a), &u)
}

// event sends an event of the stream.
func (f *response) event(r *reply, kind string, keys map[string]any) error {
	keys["type"], keys["sequence_number"] = kind, f.events
	f.events++
	data, err := json.Marshal(keys)
	if err != nil {
		return err
	}
	return r.event(fmt.Sprintf("event: %s\ndata: %s\n\n", kind, data))
}

// begin sends the beginning of the stream, if it has not begun.
func (f *response) begin(r *reply) error {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		if f.events < 2 {
			if err := f.event(r, kind, map[string]any{"response": f.object(r, "in_progress", nil)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// open sends the beginning of the message, if it has not begun.
func (f *response) open(r *reply) error {
	if f.opened {
		return nil
	}
	f.opened = true
	err := f.event(r, "response.output_item.added", map[string]any{
		"output_index": 0, "item": f.item(r, "", "in_progress"),
	})
	if err != nil {
		return err
	}
	return f.event(r, "response.content_part.added", f.at(r, map[string]any{"part": f.part("")}))
}

// at adds the place of the text of the message.
func (*response) at(r *reply, keys map[string]any) map[string]any {
	keys["item_id"], keys["output_index"], keys["content_index"] = "msg_"+r.id, 0, 0
	return keys
}

func (f *response) piece(r *reply, _ int, p part) error {
	if err := f.begin(r); err != nil {
		return err
	}
	if p.text != "" {
		if err := f.open(r); err != nil {
			return err
		}
		f.said += p.text
		keys := f.at(r, map[string]any{"delta": p.text, "logprobs": []any{}})
		if err := f.event(r, "response.output_text.delta", keys); err != nil {
			return err
		}
	}
	if len(p.calls) == 0 {
		return nil
	}
	if err := f.close(r, "completed"); err != nil {
		return err
	}
	for j, c := range p.calls {
		if err := f.calls(r, j, c); err != nil {
			return err
		}
	}
	return nil
}

// close sends the end of the message, if it has begun.
func (f *response) close(r *reply, status string) error {
	if !f.opened || len(f.items) > 0 {
		return nil
	}
	f.items = append(f.items, f.item(r, f.said, status))
	keys := f.at(r, map[string]any{"text": f.said, "logprobs": []any{}})
	if err := f.event(r, "response.output_text.done", keys); err != nil {
		return err
	}
	keys = f.at(r, map[string]any{"part": f.part(f.said)})
	if err := f.event(r, "response.content_part.done", keys); err != nil {
		return err
	}
	return f.event(r, "response.output_item.done", map[string]any{"output_index": 0, "item": f.items[0]})
}

// calls sends the j-th call.
func (f *response) calls(r *reply, j int, c chat.Call) error {
	index, arguments := len(f.items), string(c.Arguments)
	done := f.call(r, j, c, arguments, "completed")
	f.items = append(f.items, done)
	for _, e := range []struct {
		kind string
		keys map[string]any
	}{
		{"output_item.added", map[string]any{"item": f.call(r, j, c, "", "in_progress")}},
		{"function_call_arguments.delta", map[string]any{"item_id": done["id"], "delta": arguments}},
		{"function_call_arguments.done", map[string]any{"item_id": done["id"], "arguments": arguments, "name": c.Name}},
		{"output_item.done", map[string]any{"item": done}},
	} {
		e.keys["output_index"] = index
		if err := f.event(r, "response."+e.kind, e.keys); err != nil {
			return err
		}
	}
	return nil
}

func (f *response) last(r *reply, all []answered, u usage) error {
	err := f.begin(r)
	if err == nil && len(f.items) == 0 {
		err = f.open(r)
	}
	status := f.status(all[0])
	if err == nil {
		err = f.close(r, status)
	}
	if err != nil {
		return err
	}
	return f.event(r, "response."+status, map[string]any{"response": f.object(r, status, &u)})
}
