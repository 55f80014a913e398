package text

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Template says what stands around prompts and answers, as a model's tokenizer_config.json does.
type Template struct {
	Begin string // the token that a text begins with; "" for none
	End   string // the token that a text ends with; "" is the tokenizer's <|endoftext|>, </s> or <|end_of_text|>, if it has one
	Chat  string // the template of conversations, in Jinja: one of a few forms; "" for none
}

// Message is a turn of a conversation.
type Message struct {
	Role    string // system, user or assistant
	Content string
}

// ReadTemplate reads eos_token, bos_token where texts begin with it, and chat_template from a tokenizer_config.json.
func ReadTemplate(data []byte) (Template, error) {
	var c struct {
		Begin    token `json:"bos_token"`
		End      token `json:"eos_token"`
		AddBegin bool  `json:"add_bos_token"`
		Chat     chats `json:"chat_template"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return Template{}, errors.Wrap(field.Said(err), "tokenizer_config.json")
	}
	t := Template{End: string(c.End), Chat: string(c.Chat)}
	if c.AddBegin || strings.Contains(t.Chat, "bos_token") {
		t.Begin = string(c.Begin)
	}
	return t, nil
}

// token is "…", or {"content": "…"} as in older files.
type token string

func (t *token) UnmarshalJSON(data []byte) error {
	var object struct{ Content string }
	if len(data) > 0 && data[0] == '{' {
		err := json.Unmarshal(data, &object)
		*t = token(object.Content)
		return err
	}
	return json.Unmarshal(data, (*string)(t))
}

// chats is "…", or a list of templates with names, of which the default counts.
type chats string

func (c *chats) UnmarshalJSON(data []byte) error {
	var list []struct{ Name, Template string }
	if len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(c))
	}
	err := json.Unmarshal(data, &list)
	for _, named := range list {
		if named.Name == "default" {
			*c = chats(named.Template)
		}
	}
	return err
}

// Conversation is the tokens of messages, and which of them the assistant is to learn: what it says, and the mark that
// ends it. Where the last message is not the assistant's, the beginning of its answer follows, for a model to go on. A
// template that is none of the known forms is an error, and so are messages that it has no place for.
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

// end is End, or the usual token that the tokenizer has.
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
