package chat

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/jinja"
	"github.com/pkg/errors"
)

// Call is a call of a tool by the assistant.
type Call struct {
	ID        string
	Name      string
	Arguments json.RawMessage // an object
}

// mostNesting is the largest number of objects and lists inside each other in a tool or in its arguments.
const mostNesting = 64

// TokensWithTools is Tokens with the tools that the assistant may call, each an object of JSON as OpenAI's interface
// describes it, and with their results: messages of the role tool. All of their texts are ordinary text.
func (c *Writer) TokensWithTools(ctx context.Context, tools []json.RawMessage, messages ...Message) (
	ids []int, answer []bool, err error) {

	var list any // nil without tools, as templates expect
	if len(tools) > 0 {
		all := make([]any, len(tools))
		for i, data := range tools {
			if all[i], err = valueOf(data, byUser); err != nil {
				return nil, nil, errors.WithMessagef(err, "tools: %d", i)
			}
			if _, ok := all[i].(*jinja.Object); !ok {
				return nil, nil, errors.Errorf("tools: %d: want an object", i)
			}
		}
		list = all
	}
	return c.tokens(ctx, list, messages, append(roles(), "tool"))
}

// tool adds to the values of a message what calls and their results have.
func (m Message) tool(message *jinja.Object) error {
	if m.Answers != "" {
		message.Set(byTemplate("tool_call_id"), jinja.By(byUser, m.Answers))
	}
	if len(m.Calls) == 0 {
		return nil
	}
	list := make([]any, len(m.Calls))
	for i, c := range m.Calls {
		arguments, err := valueOf(c.Arguments, byAssistant)
		if err == nil {
			if _, ok := arguments.(*jinja.Object); !ok {
				err = errors.New("want an object")
			}
		}
		if err != nil {
			return errors.WithMessagef(err, "calls: %d: arguments", i)
		}
		function, call := &jinja.Object{}, &jinja.Object{}
		function.Set(byTemplate("name"), jinja.By(byAssistant, c.Name))
		function.Set(byTemplate("arguments"), arguments)
		call.Set(byTemplate("id"), jinja.By(byAssistant, c.ID))
		call.Set(byTemplate("type"), byTemplate("function"))
		call.Set(byTemplate("function"), function)
		list[i] = call
	}
	message.Set(byTemplate("tool_calls"), list)
	return nil
}

// valueOf returns a value of JSON for a template, whose texts are by an author.
func valueOf(data []byte, author byte) (any, error) {
	v, err := field.Ordered(data, mostNesting)
	if err != nil {
		return nil, err
	}
	return templated(v, author)
}

// templated returns a value of field.Ordered for a template.
func templated(v any, author byte) (any, error) {
	switch v := v.(type) {
	case string:
		return jinja.By(author, v), nil
	case json.Number:
		if i, err := strconv.Atoi(string(v)); err == nil {
			return i, nil
		}
		return v.Float64()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = templated(item, author); err != nil {
				return nil, err
			}
		}
		return list, nil
	case field.Object:
		object := &jinja.Object{}
		for _, m := range v {
			value, err := templated(m.Value, author)
			if err != nil {
				return nil, err
			}
			object.Set(jinja.By(author, m.Name), value)
		}
		return object, nil
	}
	return v, nil // a bool or nil
}
