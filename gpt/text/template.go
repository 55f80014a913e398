package text

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Template describes the text around prompts and answers, as a model's tokenizer_config.json does.
type Template struct {
	Begin string // the token that a text begins with; optional
	// End is the token that a text ends with. By default it is the tokenizer's <|endoftext|>, </s> or <|end_of_text|>,
	// if the tokenizer has one of them.
	End  string
	Chat string // the template of conversations, in Jinja, in one of a few forms; optional
}

// Message is a turn of a conversation.
type Message struct {
	Role    string // system, user or assistant
	Content string
}

// ReadTemplate reads eos_token, bos_token (if texts begin with it) and chat_template from a tokenizer_config.json.
func ReadTemplate(data []byte) (Template, error) {
	var c struct {
		Begin    json.RawMessage `json:"bos_token"`
		End      json.RawMessage `json:"eos_token"`
		AddBegin bool            `json:"add_bos_token"`
		Chat     json.RawMessage `json:"chat_template"`
	}
	if err := field.Unmarshal(data, &c); err != nil {
		return Template{}, err
	}
	begin, err := token(c.Begin)
	if err != nil {
		return Template{}, errors.WithMessage(err, "bos_token")
	}
	t := Template{}
	if t.End, err = token(c.End); err != nil {
		return Template{}, errors.WithMessage(err, "eos_token")
	}
	if t.Chat, err = chat(c.Chat); err != nil {
		return Template{}, errors.WithMessage(err, "chat_template")
	}
	if c.AddBegin || strings.Contains(t.Chat, "bos_token") {
		t.Begin = begin
	}
	return t, nil
}

// token reads "…", or {"content": "…"} in older files.
func token(data json.RawMessage) (s string, err error) {
	if bytes.HasPrefix(data, []byte("{")) {
		var object struct {
			Content string `json:"content"`
		}
		err = field.UnmarshalPart(data, &object)
		return object.Content, err
	}
	if data != nil {
		err = field.UnmarshalPart(data, &s)
	}
	return s, err
}

// chat reads "…", or the default of a list of named templates.
func chat(data json.RawMessage) (s string, err error) {
	if !bytes.HasPrefix(data, []byte("[")) {
		if data != nil {
			err = field.UnmarshalPart(data, &s)
		}
		return s, err
	}
	var list []struct {
		Name     string `json:"name"`
		Template string `json:"template"`
	}
	err = field.UnmarshalPart(data, &list)
	for _, named := range list {
		if named.Name == "default" {
			s = named.Template
		}
	}
	return s, err
}

// Conversation returns the tokens of messages, and for each whether the assistant is to learn it: its own messages,
// and the mark that ends them. If the last message is not the assistant's, the beginning of its answer follows, for a
// model to continue. A template that has none of the known forms is an error, and so are messages that it has no place
// for.
func (t Template) Conversation(tok Tokenizer, messages ...Message) (ids []int, answer []bool, err error) {
	if tok == nil {
		return nil, nil, errors.New("messages: the tokenizer is nil")
	}
	t.End = t.end(tok)
	f, err := t.form()
	if err == nil {
		err = checkMessages(messages)
	}
	if err != nil {
		return nil, nil, err
	}
	w := writer{tok: tok}
	if f.begins {
		w.mark(t.Begin)
	}
	if messages[0].Role != "system" && f.system != "" {
		messages = slices.Insert(slices.Clone(messages), 0, Message{"system", f.system})
	}
	for _, m := range messages {
		if f.trims {
			m.Content = strings.TrimSpace(m.Content)
		}
		w.mark(f.head + m.Role + f.neck)
		w.turn(m.Role == "assistant")
		w.text(m.Content)
		w.mark(f.end)
		w.turn(false)
		w.mark(f.tail)
	}
	if messages[len(messages)-1].Role != "assistant" {
		w.mark(f.head + "assistant" + f.neck)
	}
	return w.done()
}

// end returns End, or else the usual token that the tokenizer has.
func (t Template) end(tok Tokenizer) string {
	specials, ok := tok.(special)
	for _, name := range []string{"<|endoftext|>", "</s>", "<|end_of_text|>"} {
		if t.End != "" || !ok {
			break
		}
		if _, has := specials.Special(name); has {
			return name
		}
	}
	return t.End
}

func checkMessages(messages []Message) error {
	if len(messages) == 0 {
		return errors.New("messages: got none, want 1 or more")
	}
	for i, m := range messages {
		switch {
		case !slices.Contains([]string{"system", "user", "assistant"}, m.Role):
			return errors.Errorf("messages: %d: role: got %.64q, want system, user or assistant", i, m.Role)
		case m.Role == "system" && i > 0:
			return errors.Errorf("messages: %d: role: got system, want it first or not at all", i)
		}
	}
	return nil
}
