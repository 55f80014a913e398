package text

import "github.com/pkg/errors"

// Question is a multiple-choice question in tokens.
type Question struct {
	Choices []Choice
	Answer  int // index of the right choice
}

// Choice holds the tokens of a question's prompt, and after them the tokens of one of its choices.
type Choice struct {
	Tokens []int
	First  int // index of the choice's first token
	Bytes  int // length of the choice's text
}

// Row fills a row of inputs x with the tokens of c, and y, of the same length, with their targets: the choice's, and
// Ignore for the prompt. What is left of x is 0. If the row is too short, it leaves out the first tokens of the prompt,
// and returns their number. A choice that does not fit is an error.
func (c Choice) Row(x, y []int) (cut int, err error) {
	if err := c.Check(); err != nil {
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

// Check returns an error unless c has tokens of a prompt and of a choice.
func (c Choice) Check() error {
	if n := len(c.Tokens) - c.First; c.First < 1 || n < 1 {
		return errors.Errorf("got %d tokens of a prompt and %d of its answer, want at least 1 of each", c.First, n)
	}
	return nil
}

// Pair holds two answers to a prompt, of which people prefer the first.
type Pair struct{ Chosen, Rejected Choice }

// Prompt is a text for a model to answer. Answer holds the right answer, with which a score compares the model's.
type Prompt struct {
	Tokens []int  // with the beginning of the answer's turn, in a conversation
	Text   string // the prompt, or the content of the last message
	Answer string // the right answer; optional
}
