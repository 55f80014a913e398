package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// LoadAnswers returns the corpus of a JSONL file with one example per line: {"prompt": "…", "completion": "…"} or
// {"messages": [{"role": "user", "content": "…"}, …]}. Other keys are ignored. A model learns only the answers:
// completions with the token after them that ends a text, and the assistant's messages with the mark that ends each of
// them. All other targets are Ignore.
//
// Each example is a separate row that begins at position 0 and is padded to blockSize at its end, so a model sees in
// training what it sees in use, and no example sees another. A longer example is cut at its end; it is an error if
// this leaves none of its answer. The first nine tenths of the lines are for training, the rest for validation.
func LoadAnswers(path string, tok text.Tokenizer, t Template, blockSize int) (text.Corpus, error) {
	switch {
	case tok == nil:
		return nil, errors.New("answers: the tokenizer is nil")
	case blockSize < 1:
		return nil, errors.Errorf("answers: block_size: got %d, want at least 1", blockSize)
	}
	var all []example
	r := &reader{Template: t, tok: tok}
	content, err := eachLine("answers", path, func(line []byte) error {
		ids, answer, err := r.example(line)
		if err != nil {
			return err
		}
		e, err := cut(ids, answer, blockSize)
		all = append(all, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	if n := len(all); n < 2 {
		return nil, errors.Errorf("answers %s: got %d examples, want at least 2: one to train on, one to validate on",
			path, n)
	}
	sum, first := sha256.Sum256([]byte(content)), len(all)*9/10
	train, err := rows(all[:first], blockSize)
	if err != nil {
		return nil, errors.WithMessagef(err, "answers %s", path)
	}
	val, err := rows(all[first:], blockSize)
	return text.Dataset{Training: train, Validation: val, Sum: hex.EncodeToString(sum[:])},
		errors.WithMessagef(err, "answers %s", path)
}

// example holds the tokens of a row and their targets.
type example struct{ tokens, targets []int }

// cut returns the first blockSize tokens of an example, whose answers are to be learnt.
func cut(ids []int, answer []bool, blockSize int) (e example, err error) {
	e = example{ids[:min(len(ids), blockSize)], make([]int, min(len(ids), blockSize))}
	for i := range e.targets {
		if e.targets[i] = text.Ignore; i+1 < len(ids) && answer[i+1] {
			e.targets[i] = ids[i+1]
		}
	}
	if !slices.ContainsFunc(e.targets, func(id int) bool { return id != text.Ignore }) {
		return e, errors.Errorf("got %d tokens without an answer's among the first block_size %d, want some to learn",
			len(ids), blockSize)
	}
	return e, nil
}

// rows returns the examples as a Split.
func rows(list []example, blockSize int) (text.Split, error) {
	return text.Rows(func(yield func(tokens, targets []int) bool) {
		for _, e := range list {
			if !yield(e.tokens, e.targets) {
				return
			}
		}
	}, blockSize)
}

// LongestExample returns the smallest blockSize with which LoadAnswers cuts no example of a file.
func LongestExample(path string, tok text.Tokenizer, t Template) (longest int, err error) {
	if tok == nil {
		return 0, errors.New("answers: the tokenizer is nil")
	}
	r := reader{Template: t, tok: tok}
	_, err = eachLine("answers", path, func(line []byte) error {
		ids, _, err := r.example(line)
		longest = max(longest, len(ids)-1)
		return err
	})
	return longest, err
}

// eachLine calls f with each line of a file that is not empty, and returns the file's content. An error names kind, the
// file and the line.
func eachLine(kind, path string, f func(line []byte) error) (content string, err error) {
	if content, err = text.ReadFile(path); err != nil {
		return "", err
	}
	number := 0
	for line := range strings.Lines(content) {
		if number++; strings.TrimSpace(line) == "" {
			continue
		}
		if err := f([]byte(line)); err != nil {
			return "", errors.WithMessagef(err, "%s %s: line %d", kind, path, number)
		}
	}
	return content, nil
}

// reader reads examples. It parses the template of conversations once, when an example needs it.
type reader struct {
	Template
	tok  text.Tokenizer
	chat *Writer
}

// conversation returns the tokens of messages.
func (r *reader) conversation(messages []Message) (ids []int, answer []bool, err error) {
	if r.chat == nil {
		if r.chat, err = NewWriter(r.Template, r.tok); err != nil {
			return nil, nil, err
		}
	}
	return r.chat.Tokens(context.Background(), messages...)
}

// example returns the tokens of a line, and for each whether it belongs to an answer.
func (r *reader) example(line []byte) (ids []int, answer []bool, err error) {
	var e struct {
		Prompt     *string   `json:"prompt"`
		Completion *string   `json:"completion"`
		Messages   []Message `json:"messages"`
	}
	if err := field.UnmarshalPart(line, &e); err != nil {
		return nil, nil, err
	}
	switch {
	case e.Messages != nil && e.Prompt == nil && e.Completion == nil:
		return r.conversation(e.Messages)
	case e.Messages == nil && e.Prompt != nil && e.Completion != nil:
		w := encoder{tok: r.tok}
		w.mark(r.Begin)
		w.text(*e.Prompt)
		w.turn(true)
		w.text(*e.Completion)
		w.mark(r.end(r.tok))
		return w.done()
	}
	return nil, nil, errors.New("want prompt and completion, or messages")
}
