package main

import (
	"encoding/json"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
)

// callForm writes calls of tools into answers.
type callForm interface {
	// add adds the calls of the i-th choice to a message. If numbered is set, as in a stream, each call has its number.
	add(message map[string]any, r *reply, i int, calls []chat.Call, numbered bool)
	// finish returns the reason for which an answer with calls ends.
	finish() string
}

// toolCalls is the form of tools.
type toolCalls struct{}

func (toolCalls) finish() string { return atCalls }

func (toolCalls) add(message map[string]any, r *reply, i int, calls []chat.Call, numbered bool) {
	list := []any{}
	for j, c := range calls {
		object := map[string]any{
			"id": r.callID(i, j), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)},
		}
		if numbered {
			object["index"] = j
		}
		list = append(list, object)
	}
	message["tool_calls"] = list
}

// functionCall is the older form of functions, of which an answer calls one.
type functionCall struct{}

func (functionCall) finish() string { return "function_call" }

func (functionCall) add(message map[string]any, _ *reply, _ int, calls []chat.Call, _ bool) {
	message["function_call"] = map[string]any{"name": calls[0].Name, "arguments": string(calls[0].Arguments)}
}

// readFunctions reads functions and function_call, the older form of tools, in place of these.
func (r *request) readFunctions() error {
	r.calls = toolCalls{}
	if len(r.functions) == 0 {
		return nil
	}
	var list []function
	if err := json.Unmarshal(r.functions, &list); err != nil || len(list) > mostTools {
		return invalid("functions", "got %s, want a list of at most %d functions", clipped(r.functions), mostTools)
	}
	if len(list) > 0 && len(r.tools) > 0 {
		return invalid("functions", "beside tools, want one of them")
	}
	for i, f := range list {
		t, err := toolOf(fmt.Sprintf("functions[%d]", i), f)
		if err != nil {
			return err
		}
		r.tools, r.calls = append(r.tools, t), functionCall{}
	}
	var named struct {
		Name string `json:"name"`
	}
	if len(r.functionCall) > 0 {
		r.toolChoice = r.functionCall
		if json.Unmarshal(r.functionCall, &named) == nil && named.Name != "" {
			r.toolChoice, _ = json.Marshal(map[string]any{"type": "function", "name": named.Name}) // two texts
		}
	}
	return nil
}
