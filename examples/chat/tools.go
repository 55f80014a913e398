package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/grammar"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pkg/errors"
)

// mostTools is the largest number of tools of a request.
const mostTools = 128

// tool is a function that the model may call.
type tool struct {
	name       string
	parameters json.RawMessage // a schema
	written    json.RawMessage // as the template writes it
}

// names matches the names of tools, as OpenAI's interface restricts them.
var names = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// function is a function in OpenAI's keys.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// toolOf returns the tool of a function at a place of a request.
func toolOf(at string, f function) (tool, error) {
	if !names.MatchString(f.Name) {
		return tool{}, invalid(at+".name", "got %.64q, want 1 to 64 letters, digits, _, - or dots", f.Name)
	}
	if f.Parameters == nil {
		f.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	written, err := json.Marshal(map[string]any{"type": "function", "function": f})
	return tool{f.Name, f.Parameters, written}, err
}

// readTools returns the tools of a chat.
func readTools(raw json.RawMessage) (list []tool, err error) {
	var all []struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &all); err != nil || len(all) > mostTools {
		return nil, invalid("tools", "got %s, want a list of at most %d tools", clipped(raw), mostTools)
	}
	for i, one := range all {
		at := fmt.Sprintf("tools[%d]", i)
		if one.Type != "function" {
			return nil, invalid(at+".type", "got %.32q, want function", one.Type)
		}
		t, err := toolOf(at+".function", one.Function)
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

// choose returns the tools that an answer may call, and the tools of which it must call one.
func choose(raw json.RawMessage, tools []tool) (may, must []tool, err error) {
	var word string
	var named struct {
		Type     string   `json:"type"`
		Name     string   `json:"name"` // of /v1/responses
		Function function `json:"function"`
	}
	switch {
	case len(raw) == 0:
		return tools, nil, nil
	case json.Unmarshal(raw, &word) == nil:
	case json.Unmarshal(raw, &named) != nil || named.Type != "function":
		return nil, nil, invalid("tool_choice", "got %s, want none, auto, required or a function", clipped(raw))
	default:
		if named.Name == "" {
			named.Name = named.Function.Name
		}
		i := slices.IndexFunc(tools, func(t tool) bool { return t.name == named.Name })
		if i < 0 {
			return nil, nil, invalid("tool_choice", "got the function %.64q, which is none of the tools", named.Name)
		}
		return tools, tools[i : i+1], nil
	}
	switch word {
	case "none":
		return nil, nil, nil
	case "auto":
		return tools, nil, nil
	case "required":
		if len(tools) == 0 {
			return nil, nil, invalid("tool_choice", "got required without tools")
		}
		return tools, tools, nil
	}
	return nil, nil, invalid("tool_choice", "got %.32q, want none, auto or required", word)
}

// offers returns how the model writes calls, or an error if its template writes no tools.
func (e *engine) offers() (style, error) {
	c, err := e.chat()
	if err != nil {
		return nil, err
	}
	return styleOf(c, e.template)
}

// writesCalls returns an error if messages have calls, or their results, and the template of the model writes none.
func (s *server) writesCalls(messages []chat.Message) error {
	for i, m := range messages {
		if len(m.Calls) == 0 && m.Role != "tool" {
			continue
		}
		if _, err := s.calls(); err != nil {
			return invalid(fmt.Sprintf("messages[%d]", i), "has calls of tools or their results: %v", err)
		}
	}
	return nil
}

// equip reads the tools of a request and adds them to its question.
func (s *server) equip(r *request, q *question) error {
	must := []tool(nil)
	var err error
	if q.tools, must, err = choose(r.toolChoice, r.tools); err != nil || len(q.tools) == 0 {
		return err
	}
	if q.style, err = s.calls(); err != nil {
		return invalid("tools", "%v", err)
	}
	if len(must) == 0 {
		return nil
	}
	if q.grammar != nil {
		return invalid("tool_choice", "got one that requires a call, beside a format of the answer")
	}
	var list []*grammar.Grammar
	for _, t := range must {
		g, err := schemed("tools", t.parameters)
		if err == nil {
			g, err = q.style.grammar(t.name, g)
		}
		if err != nil {
			return errors.WithMessagef(err, "the tool %s", t.name)
		}
		list = append(list, g)
	}
	q.grammar, err = grammar.Either(list...)
	q.grammarKey = "tools"
	return err
}

// called returns the calls of a message.
func called(at string, raw json.RawMessage) (list []chat.Call, err error) {
	var all []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, invalid(at, "got %s, want a list of calls", clipped(raw))
	}
	for i, one := range all {
		call, err := callOf(fmt.Sprintf("%s[%d]", at, i), one.ID, one.Function.Name, one.Function.Arguments)
		if err != nil {
			return nil, err
		}
		list = append(list, call)
	}
	return list, nil
}

// callOf returns a call with arguments that are an object of JSON as a text.
func callOf(at, id, name, arguments string) (chat.Call, error) {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return chat.Call{}, invalid(at+".arguments", "got %.64q, want an object of JSON as a text", arguments)
	}
	return chat.Call{ID: id, Name: name, Arguments: json.RawMessage(arguments)}, nil
}
