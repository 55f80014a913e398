package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"

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
func valueOf(data []byte, by byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := nextValue(d, by, 0)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return v, err
}

// nextValue returns the next value.
func nextValue(d *json.Decoder, by byte, nesting int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case string:
		return jinja.By(by, t), nil
	case json.Number:
		if i, err := strconv.Atoi(string(t)); err == nil {
			return i, nil
		}
		return t.Float64()
	case json.Delim:
		if nesting == mostNesting {
			return nil, errors.Errorf("more than %d objects and lists inside each other", mostNesting)
		}
		if t == '[' {
			return nextList(d, by, nesting+1)
		}
		return nextObject(d, by, nesting+1)
	}
	return t, nil // a bool or nil
}

func nextList(d *json.Decoder, by byte, nesting int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := nextValue(d, by, nesting)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func nextObject(d *json.Decoder, by byte, nesting int) (any, error) {
	o := &jinja.Object{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := nextValue(d, by, nesting)
		if err != nil {
			return nil, err
		}
		s, _ := name.(string)
		o.Set(jinja.By(by, s), v)
	}
	_, err := d.Token()
	return o, err
}
