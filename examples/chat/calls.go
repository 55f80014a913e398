package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/grammar"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pkg/errors"
)

// style is how a model writes calls of tools.
type style interface {
	// mark is the text with which calls begin; empty if the whole answer is one.
	mark() string
	// read returns the calls of a text from the mark on, and whether it has nothing else.
	read(text string) (calls []chat.Call, ok bool)
	// grammar returns the grammar of a call of a tool whose arguments have a grammar.
	grammar(name string, arguments *grammar.Grammar) (*grammar.Grammar, error)
}

// styleOf returns the style of a template, by the marks in it. It returns an error if the template writes no tools.
func styleOf(w *chat.Writer, t chat.Template) (style, error) {
	hi, ctx := chat.Message{Role: "user", Content: "a"}, context.Background()
	plain, _, err := w.Tokens(ctx, hi)
	if err != nil {
		return nil, err
	}
	probe := json.RawMessage(`{"type":"function","function":{"name":"f","description":"",` +
		`"parameters":{"type":"object",` +
		`"properties":{}}}}`)
	with, _, err := w.TokensWithTools(ctx, []json.RawMessage{probe}, hi)
	switch {
	case err != nil:
		return nil, err
	case len(with) <= len(plain):
		return nil, errors.New("the template of this model writes no tools")
	case strings.Contains(t.Chat, "<tool_call>") && !strings.Contains(t.Chat, "<function="):
		return tagged{}, nil
	case strings.Contains(t.Chat, "[TOOL_CALLS]"):
		return listed{}, nil
	case strings.Contains(t.Chat, `"parameters"`):
		return bare{}, nil
	}
	return nil, errors.New("the template of this model writes calls in a form that this server does not read")
}

// object returns the call of an object of JSON at the beginning of a text, and the rest of the text.
func object(s, arguments string) (c chat.Call, rest string, ok bool) {
	d := json.NewDecoder(strings.NewReader(s))
	var keys map[string]json.RawMessage
	if d.Decode(&keys) != nil || json.Unmarshal(keys["name"], &c.Name) != nil {
		return c, s, false
	}
	if c.Arguments = keys[arguments]; c.Arguments == nil {
		c.Arguments = json.RawMessage("{}")
	}
	c.Arguments = bytes.TrimSpace(c.Arguments)
	return c, s[d.InputOffset():], names.MatchString(c.Name) && c.Arguments[0] == '{'
}

// tagged is the style of Hermes and Qwen: <tool_call>{"name": …, "arguments": …}</tool_call> for each call.
type tagged struct{}

func (tagged) mark() string { return "<tool_call>" }

func (t tagged) read(s string) (calls []chat.Call, ok bool) {
	for {
		rest, more := strings.CutPrefix(strings.TrimSpace(s), t.mark())
		if !more {
			return calls, len(calls) > 0 && strings.TrimSpace(s) == ""
		}
		c, rest, ok := object(rest, "arguments")
		if !ok {
			return calls, false
		}
		calls = append(calls, c)
		s = strings.TrimPrefix(strings.TrimSpace(rest), "</tool_call>")
	}
}

func (t tagged) grammar(name string, arguments *grammar.Grammar) (*grammar.Grammar, error) {
	return arguments.Between(t.mark()+"\n{\"name\": \""+name+`", "arguments": `, "}\n</tool_call>")
}

// listed is the style of Mistral: [TOOL_CALLS] and a list of {"name": …, "arguments": …}.
type listed struct{}

func (listed) mark() string { return "[TOOL_CALLS]" }

func (l listed) read(s string) (calls []chat.Call, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal([]byte(strings.TrimPrefix(s, l.mark())), &list) != nil {
		return nil, false
	}
	for _, one := range list {
		c, _, ok := object(string(one), "arguments")
		if !ok {
			return nil, false
		}
		calls = append(calls, c)
	}
	return calls, len(calls) > 0
}

func (l listed) grammar(name string, arguments *grammar.Grammar) (*grammar.Grammar, error) {
	return arguments.Between(l.mark()+`[{"name": "`+name+`", "arguments": `, "}]")
}

// bare is the style of Llama 3: the answer is {"name": …, "parameters": …}.
type bare struct{}

func (bare) mark() string { return "" }

func (bare) read(s string) (calls []chat.Call, ok bool) {
	c, rest, ok := object(s, "parameters")
	return []chat.Call{c}, ok && strings.TrimSpace(rest) == ""
}

func (bare) grammar(name string, arguments *grammar.Grammar) (*grammar.Grammar, error) {
	return arguments.Between(`{"name": "`+name+`", "parameters": `, "}")
}

// ear finds the calls in an answer, part by part. Without a style it hears none.
type ear struct {
	style style
	held  string // a text that is a call, or that may become one
	begun bool   // some text was no call
}

// hear returns a part without the text that may belong to a call.
func (e *ear) hear(p part) part {
	if e.style == nil {
		return p
	}
	e.held += p.text
	p.text = ""
	switch mark := e.style.mark(); {
	case mark == "" && !e.begun && strings.HasPrefix(strings.TrimSpace(e.held)+"{", "{"):
	case mark == "":
		p.text, e.held = e.held, ""
	case strings.Contains(e.held, mark):
		at := strings.Index(e.held, mark)
		p.text, e.held = e.held[:at], e.held[at:]
	default:
		n := len(e.held)
		for i := max(0, n-len(mark)+1); i < n; i++ {
			if strings.HasPrefix(mark, e.held[i:]) {
				n = i
				break
			}
		}
		p.text, e.held = e.held[:n], e.held[n:]
	}
	e.begun = e.begun || p.text != ""
	return p
}

// end returns what was held: calls of tools, or else a text.
func (e *ear) end() (p part) {
	if e.held == "" {
		return p
	}
	if calls, ok := e.style.read(e.held); ok {
		p.calls = calls
		return p
	}
	p.text = e.held
	return p
}
