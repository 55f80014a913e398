package chat

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// completion returns the tokens of a prompt and of an answer, and of the mark at its end, if there is one.
func (t Template) completion(tok text.Tokenizer, prompt, answer, end string) (c text.Choice, err error) {
	w := encoder{tok: tok}
	w.mark(t.Begin)
	w.text(prompt)
	w.turn(true)
	c.First, c.Bytes = len(w.ids), len(answer)
	w.text(answer)
	w.mark(end)
	if c.Tokens, _, err = w.done(); err == nil {
		err = c.Check()
	}
	return c, err
}

// LoadQuestions returns the questions of a JSONL file with one of them per line:
// {"prompt": "…", "choices": ["…", "…"], "answer": 0}, where answer counts the choices from 0. Other keys are ignored.
// A choice continues the prompt as it is: a space between them belongs to one of the two. The template's Begin, if it
// has one, precedes the prompt. As in LoadAnswers, no token crosses the border between prompt and choice.
func LoadQuestions(path string, tok text.Tokenizer, t Template) (list []text.Question, err error) {
	return eachOf("questions", path, tok, t, (*reader).question)
}

// question returns the question of a line.
func (r *reader) question(line []byte) (q text.Question, err error) {
	var e struct {
		Prompt  *string  `json:"prompt"`
		Choices []string `json:"choices"`
		Answer  *int     `json:"answer"`
	}
	if err := field.UnmarshalPart(line, &e); err != nil {
		return q, err
	}
	switch n := len(e.Choices); {
	case e.Prompt == nil || e.Choices == nil || e.Answer == nil:
		return q, errors.New("want prompt, choices and answer")
	case n < 2:
		return q, errors.Errorf("choices: got %d, want at least 2", n)
	case *e.Answer < 0 || *e.Answer >= n:
		return q, errors.Errorf("answer: got %d, want 0 to %d, one of the choices", *e.Answer, n-1)
	}
	q.Answer = *e.Answer
	for i, choice := range e.Choices {
		c, err := r.completion(r.tok, *e.Prompt, choice, "")
		if err != nil {
			return q, errors.WithMessagef(err, "choice %d", i)
		}
		q.Choices = append(q.Choices, c)
	}
	return q, nil
}
