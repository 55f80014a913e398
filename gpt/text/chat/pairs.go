package chat

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// LoadPairs returns the pairs of a JSONL file with one of them per line:
//
//	{"prompt": "…", "chosen": "…", "rejected": "…"}
//	{"chosen": [{"role": "user", "content": "…"}, …], "rejected": [{"role": "user", "content": "…"}, …]}
//
// Other keys are ignored. The token that ends a text follows an answer; in conversations, the answer is the last turn
// of the assistant, with the mark that ends it.
func LoadPairs(path string, tok text.Tokenizer, t Template) (list []text.Pair, err error) {
	return eachOf("pairs", path, tok, t, (*reader).pair)
}

// pair returns the pair of a line.
func (r *reader) pair(line []byte) (p text.Pair, err error) {
	var e struct {
		Prompt   *string         `json:"prompt"`
		Chosen   json.RawMessage `json:"chosen"`
		Rejected json.RawMessage `json:"rejected"`
	}
	if err := field.UnmarshalPart(line, &e); err != nil {
		return p, err
	}
	if e.Chosen == nil || e.Rejected == nil {
		return p, errors.New("want chosen and rejected, and with texts a prompt")
	}
	if p.Chosen, err = r.answered(e.Prompt, e.Chosen); err != nil {
		return p, errors.WithMessage(err, "chosen")
	}
	p.Rejected, err = r.answered(e.Prompt, e.Rejected)
	return p, errors.WithMessage(err, "rejected")
}

// answered returns the tokens of an answer to a prompt, or without a prompt the tokens of a conversation.
func (r *reader) answered(prompt *string, answer json.RawMessage) (text.Choice, error) {
	if prompt != nil {
		var s string
		if err := field.UnmarshalPart(answer, &s); err != nil {
			return text.Choice{}, err
		}
		return r.completion(r.tok, *prompt, s, r.end(r.tok))
	}
	var messages []Message
	if err := field.UnmarshalPart(answer, &messages); err != nil {
		return text.Choice{}, errors.WithMessage(err, "without a prompt")
	}
	return r.lastAnswer(messages)
}

// lastAnswer returns the tokens of a conversation up to the end of its last answer.
func (r *reader) lastAnswer(messages []Message) (text.Choice, error) {
	ids, answer, err := r.conversation(messages)
	if n := len(messages); err == nil && messages[n-1].Role != "assistant" {
		return text.Choice{}, errors.Errorf(
			"role: the last message is the %s's, want the assistant's", messages[n-1].Role)
	}
	end := len(ids)
	for end > 0 && !answer[end-1] {
		end--
	}
	first := end
	for first > 0 && answer[first-1] {
		first--
	}
	c := text.Choice{Tokens: ids[:end], First: first}
	if err == nil {
		c.Bytes = len(messages[len(messages)-1].Content)
		err = c.Check()
	}
	return c, err
}

// LoadPrompts returns the prompts of a JSONL file with one of them per line: {"prompt": "…", "answer": "…"} or
// {"messages": [{"role": "user", "content": "…"}, …], "answer": "…"}. The answer is optional, and other keys are
// ignored. The last message must not be the assistant's.
func LoadPrompts(path string, tok text.Tokenizer, t Template) (list []text.Prompt, err error) {
	return eachOf("prompts", path, tok, t, (*reader).prompt)
}

// prompt returns the prompt of a line.
func (r *reader) prompt(line []byte) (p text.Prompt, err error) {
	var e struct {
		Prompt   *string   `json:"prompt"`
		Messages []Message `json:"messages"`
		Answer   string    `json:"answer"`
	}
	if err := field.UnmarshalPart(line, &e); err != nil {
		return p, err
	}
	p.Answer = e.Answer
	switch n := len(e.Messages); {
	case e.Prompt != nil && e.Messages == nil:
		p.Text = *e.Prompt
		p.Tokens, err = r.Prompt(r.tok, p.Text)
	case e.Prompt == nil && n > 0 && e.Messages[n-1].Role != "assistant":
		p.Text = e.Messages[n-1].Content
		p.Tokens, _, err = r.conversation(e.Messages)
	default:
		return p, errors.New("want prompt, or messages whose last one is not the assistant's")
	}
	if err == nil && len(p.Tokens) == 0 {
		err = errors.New("prompt: got no tokens, want at least 1")
	}
	return p, err
}

// eachOf returns what read makes of the lines of a file, at least one.
func eachOf[T any](kind, path string, tok text.Tokenizer, t Template, read func(*reader, []byte) (T, error)) (
	list []T, err error) {

	if tok == nil {
		return nil, errors.Errorf("%s: the tokenizer is nil", kind)
	}
	r := &reader{Template: t, tok: tok}
	_, err = eachLine(kind, path, func(line []byte) error {
		item, err := read(r, line)
		list = append(list, item)
		return err
	})
	if err == nil && len(list) == 0 {
		err = errors.Errorf("%s %s: got none, want at least 1", kind, path)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}
