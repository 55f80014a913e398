package chat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A row holds the prompt and one of its choices, with the token that begins a text, and no token across their border.
func TestLoadQuestions(t *testing.T) {
	path := written(t, "questions.jsonl", `{"prompt": "the wh", "choices": ["eel", "ole é"], "answer": 1, "id": 3}

{"answer": 0, "choices": ["<s>", "b", "c"], "prompt": "a"}
`)
	tok := chatty(t)
	begin, _ := tok.Special("<s>")
	list, err := LoadQuestions(path, tok, Template{Begin: "<s>"})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		prompt, choice string
		bytes          int
	}
	var got [][]row
	var answers []int
	for _, q := range list {
		var rows []row
		for _, c := range q.Choices {
			if c.Tokens[0] != begin {
				t.Errorf("got the first token %d, want %d", c.Tokens[0], begin)
			}
			prompt, _ := tok.Decode(c.Tokens[1:c.First])
			choice, _ := tok.Decode(c.Tokens[c.First:])
			rows = append(rows, row{prompt, choice, c.Bytes})
			for _, id := range c.Tokens[1:] {
				if id == begin {
					t.Error("a special token in a choice does not stay text")
				}
			}
		}
		got, answers = append(got, rows), append(answers, q.Answer)
	}
	want := [][]row{{{"the wh", "eel", 3}, {"the wh", "ole é", 6}}, {{"a", "<s>", 3}, {"a", "b", 1}, {"a", "c", 1}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{1, 0}, answers); diff != "" {
		t.Error(diff)
	}
}

// Lines that are not questions are errors that name the file, the line and the key.
func TestLoadQuestionsRefuses(t *testing.T) {
	tok := chatty(t)
	for line, want := range map[string]string{
		"\n":   "got none, want at least 1",
		`[]`:   "line 1",
		`{}`:   "line 1: want prompt, choices and answer",
		"\n{]": "line 2",
		`{"prompt": "a", "choices": ["b"], "answer": 0}`:       "choices: got 1, want at least 2",
		`{"prompt": "a", "choices": ["b", "c"], "answer": 2}`:  "answer: got 2, want 0 to 1",
		`{"prompt": "a", "choices": ["b", "c"], "answer": -1}`: "answer: got -1, want 0 to 1",
		`{"prompt": "a", "choices": ["b", ""], "answer": 0}`:   "choice 1: got 1 tokens of a prompt and 0 of its answer",
		`{"prompt": "", "choices": ["b", "c"], "answer": 0}`:   "choice 0: got 0 tokens of a prompt and 1 of its answer",
		`{"prompt": "a", "choices": ["b", "c"]}`:               "want prompt, choices and answer",
		`{"prompt": "a", "choices": "bc", "answer": 0}`:        "choices",
	} {
		path := written(t, "questions.jsonl", line)
		_, err := LoadQuestions(path, tok, Template{})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	if _, err := LoadQuestions("questions.jsonl", nil, Template{}); err == nil ||
		!strings.Contains(err.Error(), "tokenizer") {
		t.Errorf("got %v", err)
	}
}
