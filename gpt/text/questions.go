package text

import (
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Question is a multiple-choice question in tokens.
type Question struct {
	Choices []Choice
	Answer  int // index of the right choice
}

// Choice holds the tokens of a question's prompt, and after them those of one of its choices.
type Choice struct {
	Tokens []int
	First  int // index of the choice's first token
	Bytes  int // length of the choice's text
}

// Row fills a row of inputs x with the tokens of c, and y, of the same length, with their targets: those of the choice,
// and Ignore for the prompt. What is left of x is 0. If the row is too short, it leaves out the first tokens of the
// prompt, and returns their number. A choice that does not fit is an error.
func (c Choice) Row(x, y []int) (cut int, err error) {
	if err := c.check(); err != nil {
		return 0, err
	}
	if len(x) != len(y) {
		return 0, errors.Errorf("got a row of %d tokens and %d targets, want the same number", len(x), len(y))
	}
	if count := len(c.Tokens) - c.First; count > len(x) {
		return 0, errors.Errorf("got %d tokens, want at most block_size %d", count, len(x))
	}
	cut = max(0, len(c.Tokens)-1-len(x))
	ids := c.Tokens[cut:]
	clear(x[copy(x, ids[:len(ids)-1]):])
	for i := range y {
		if y[i] = Ignore; i+1 >= c.First-cut && i+1 < len(ids) {
			y[i] = ids[i+1]
		}
	}
	return cut, nil
}

// check returns an error unless c has tokens of a prompt and of a choice.
func (c Choice) check() error {
	if n := len(c.Tokens) - c.First; c.First < 1 || n < 1 {
		return errors.Errorf("got %d tokens of a prompt and %d of its answer, want at least 1 of each", c.First, n)
	}
	return nil
}

// completion returns the tokens of a prompt and of an answer, and of the mark at its end, if there is one.
func (t Template) completion(tok Tokenizer, prompt, answer, end string) (c Choice, err error) {
	w := writer{tok: tok}
	w.mark(t.Begin)
	w.text(prompt)
	w.turn(true)
	c.First, c.Bytes = len(w.ids), len(answer)
	w.text(answer)
	w.mark(end)
	if c.Tokens, _, err = w.done(); err == nil {
		err = c.check()
	}
	return c, err
}

// LoadQuestions returns the questions of a JSONL file with one of them per line:
// {"prompt": "…", "choices": ["…", "…"], "answer": 0}, where answer counts the choices from 0. Other keys are ignored.
// A choice continues the prompt as it is: a space between them belongs to one of the two. The template's Begin, if it
// has one, precedes the prompt. As in LoadAnswers, no token crosses the border between prompt and choice.
func LoadQuestions(path string, tok Tokenizer, t Template) (list []Question, err error) {
	return eachOf("questions", path, tok, t, (*reader).question)
}

// question returns the question of a line.
func (r *reader) question(line []byte) (q Question, err error) {
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
