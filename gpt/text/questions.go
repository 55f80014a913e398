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

// LoadQuestions returns the questions of a JSONL file with one of them per line:
// {"prompt": "…", "choices": ["…", "…"], "answer": 0}, where answer counts the choices from 0. Other keys are ignored.
// A choice continues the prompt as it is: a space between them belongs to one of the two. The template's Begin, if it
// has one, precedes the prompt. As in LoadAnswers, no token crosses the border between prompt and choice.
func LoadQuestions(path string, tok Tokenizer, t Template) (list []Question, err error) {
	if tok == nil {
		return nil, errors.New("questions: the tokenizer is nil")
	}
	_, err = eachLine("questions", path, func(line []byte) error {
		q, err := t.question(line, tok)
		list = append(list, q)
		return err
	})
	if err == nil && len(list) == 0 {
		err = errors.Errorf("questions %s: got none, want at least 1", path)
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// question returns the question of a line.
func (t Template) question(line []byte, tok Tokenizer) (q Question, err error) {
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
		w := writer{tok: tok}
		w.mark(t.Begin)
		w.text(*e.Prompt)
		w.turn(true)
		first := len(w.ids)
		w.text(choice)
		ids, _, err := w.done()
		switch {
		case err != nil:
			return q, err
		case first == 0:
			return q, errors.New("prompt: got no tokens, want at least 1 before the choices")
		case first == len(ids):
			return q, errors.Errorf("choices: got no tokens of choice %d, want at least 1", i)
		}
		q.Choices = append(q.Choices, Choice{ids, first, len(choice)})
	}
	return q, nil
}
