// Package chat writes conversations as tokens, by the template of a model, and reads examples of them: prompts with
// answers to learn, questions with choices, and pairs of answers of which people prefer one. Start with NewWriter for a
// conversation, and LoadAnswers for a file of examples.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/jinja"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Template describes the text around prompts and answers, as a model's tokenizer_config.json does.
type Template struct {
	Begin string // the token that a text begins with; optional
	// End is the token that a text ends with. By default it is the tokenizer's <|endoftext|>, </s> or <|end_of_text|>,
	// if the tokenizer has one of them.
	End  string
	Chat string // the template of conversations, in Jinja; optional
}

// Message is a turn of a conversation.
type Message struct {
	Role    string // system, user or assistant; or tool, with TokensWithTools
	Content string
	Calls   []Call `json:"-"` // of tools, by the assistant; only TokensWithTools writes them
	Answers string `json:"-"` // the ID of the call whose result the message is; likewise
}

// roles lists the roles of messages.
func roles() []string { return []string{"system", "user", "assistant"} }

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

// ChatML is the template of many published models, for use in your own Template.
const ChatML = `{% for message in messages %}` +
	`{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}` +
	`{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}`

// The authors of the text of a conversation, beside jinja.ByTemplate.
const (
	byUser      = 'u'
	byAssistant = 'a'
)

// Writer writes conversations by a template. It is safe for concurrent use.
type Writer struct {
	template Template
	tok      text.Tokenizer
	parsed   *jinja.Template
}

// NewWriter parses the template of conversations, for a model with a tokenizer.
func NewWriter(t Template, tok text.Tokenizer) (*Writer, error) {
	if tok == nil {
		return nil, errors.New("messages: the tokenizer is nil")
	}
	t.End = t.end(tok)
	if t.Chat == "" {
		return nil, errors.New("messages: there is no chat_template to write them by, " +
			"want one, or prompt and completion")
	}
	parsed, err := jinja.Parse(t.Chat)
	if err != nil {
		return nil, errors.WithMessage(err, "chat_template")
	}
	return &Writer{t, tok, parsed}, nil
}

// Tokens returns the tokens of messages, and for each whether the assistant is to learn it: its own messages, and the
// mark that follows them. If the last message is not the assistant's, the beginning of its answer follows, for a model
// to continue. The template is evaluated as Hugging Face's libraries do, with limited work and memory, until the end of
// ctx. It may refuse messages, such as a system message. A special token in the content of a message is ordinary text.
func (c *Writer) Tokens(ctx context.Context, messages ...Message) (ids []int, answer []bool, err error) {
	return c.tokens(ctx, nil, messages, roles())
}

// tokens returns the tokens of messages of the given roles, with the tools as the template reads them.
func (c *Writer) tokens(ctx context.Context, tools any, messages []Message, roles []string) (
	ids []int, answer []bool, err error) {

	if c == nil || c.parsed == nil || ctx == nil {
		return nil, nil, errors.New(
			"messages: the writer or the context is nil, want a writer of NewWriter and a context")
	}
	if err := checkMessages(messages, roles); err != nil {
		return nil, nil, err
	}
	t, tok := c.template, c.tok
	values, err := t.values(tools, messages)
	if err != nil {
		return nil, nil, err
	}
	said, err := c.parsed.Render(ctx, values)
	if err != nil {
		return nil, nil, errors.WithMessage(err, "chat_template")
	}
	w := encoder{tok: tok}
	for before := byte(0); said.S != ""; {
		by, n := said.By[0], 1
		for n < len(said.By) && said.By[n] == by {
			n++
		}
		s := said.S[:n]
		switch {
		case by != jinja.ByTemplate:
			w.turn(by == byAssistant)
			w.text(s)
		case before == byAssistant:
			end := t.endOf(tok, s)
			w.mark(s[:end])
			w.turn(false)
			w.mark(s[end:])
		default:
			w.turn(false)
			w.mark(s)
		}
		before = by
		said.S, said.By = said.S[n:], said.By[n:]
	}
	return w.done()
}

// values returns the variables of the template.
func (t Template) values(tools any, messages []Message) (map[string]any, error) {
	list := make([]any, len(messages))
	for i, m := range messages {
		by := byte(byUser)
		if m.Role == "assistant" {
			by = byAssistant
		}
		message := &jinja.Object{}
		message.Set(byTemplate("role"), byTemplate(m.Role))
		message.Set(byTemplate("content"), jinja.By(by, m.Content))
		if err := m.tool(message); err != nil {
			return nil, errors.WithMessagef(err, "messages: %d", i)
		}
		list[i] = message
	}
	values := map[string]any{
		"messages": list, "add_generation_prompt": messages[len(messages)-1].Role != "assistant",
		"tools": tools, "documents": nil,
	}
	for name, token := range map[string]string{"bos_token": t.Begin, "eos_token": t.End} {
		if token != "" {
			values[name] = byTemplate(token)
		}
	}
	return values, nil
}

func byTemplate(s string) jinja.Text { return jinja.By(jinja.ByTemplate, s) }

// Prompt returns the tokens of a text that a model continues: the token that a text begins with, and the text's tokens,
// in which a special token is ordinary text.
func (t Template) Prompt(tok text.Tokenizer, prompt string) ([]int, error) {
	if tok == nil {
		return nil, errors.New("prompt: the tokenizer is nil")
	}
	w := encoder{tok: tok}
	if specials, ok := tok.(text.Specials); ok {
		if _, ok := specials.Special(t.Begin); ok {
			w.mark(t.Begin)
		}
	}
	w.text(prompt)
	ids, _, err := w.done()
	return ids, err
}

// endOf returns the length of the mark at the beginning of a template's text after an answer.
func (t Template) endOf(tok text.Tokenizer, s string) int {
	if t.End != "" && strings.HasPrefix(s, t.End) {
		return len(t.End)
	}
	if specials, ok := tok.(text.Specials); ok {
		if at, end, id := specials.NextSpecial(s); at == 0 && id >= 0 {
			return end
		}
	}
	return len(markup.FindString(s))
}

// end returns End, or else the usual token that the tokenizer has.
func (t Template) end(tok text.Tokenizer) string {
	specials, ok := tok.(text.Specials)
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

func checkMessages(messages []Message, roles []string) error {
	if len(messages) == 0 {
		return errors.New("messages: got none, want 1 or more")
	}
	for i, m := range messages {
		switch {
		case !slices.Contains(roles, m.Role):
			return errors.Errorf("messages: %d: role: got %.64q, want system, user or assistant", i, m.Role)
		case len(roles) == 3 && (len(m.Calls) > 0 || m.Answers != ""):
			return errors.Errorf("messages: %d: has calls of tools, want TokensWithTools", i)
		case m.Role == "system" && i > 0:
			return errors.Errorf("messages: %d: role: got system, want it first or not at all", i)
		}
	}
	return nil
}
