package chat

import (
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// split returns the texts of a choice's prompt and of its answer.
func split(t *testing.T, c text.Choice, tok text.Tokenizer) (prompt, answer string) {
	t.Helper()
	prompt, err := tok.Decode(c.Tokens[:c.First])
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = tok.Decode(c.Tokens[c.First:]); err != nil {
		t.Fatal(err)
	}
	return prompt, answer
}

// Both answers of a pair follow the same prompt, and the mark that ends a text or a turn belongs to them. In a
// conversation only the last answer counts.
func TestLoadPairs(t *testing.T) {
	path := written(t, "pairs.jsonl", `{"prompt": "the wh", "chosen": "eel", "rejected": "ole é", "id": 3}

{"rejected": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "d"}],`+
		` "chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}, {"role": "assistant", "content": "e"}]}
`)
	tok := chatty(t)
	list, err := LoadPairs(path, tok, Template{Begin: "<s>", End: "</s>", Chat: ChatML})
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d pairs (%v), want 2", len(list), err)
	}
	turns := "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n" +
		"<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n"
	for i, want := range [][3]string{{"<s>the wh", "eel</s>", "ole é</s>"}, {turns, "e<|im_end|>", "d<|im_end|>"}} {
		for j, c := range []text.Choice{list[i].Chosen, list[i].Rejected} {
			if prompt, answer := split(t, c, tok); prompt != want[0] || answer != want[1+j] {
				t.Errorf("pair %d: got %q and %q, want %q and %q", i, prompt, answer, want[0], want[1+j])
			}
		}
	}
	if c := list[0].Rejected; c.Bytes != 6 || list[1].Chosen.Bytes != 1 {
		t.Errorf("got %d and %d bytes, want 6 and 1", c.Bytes, list[1].Chosen.Bytes)
	}
}

// A prompt is a text or a conversation, which goes on with the assistant's turn.
func TestLoadPrompts(t *testing.T) {
	path := written(t, "prompts.jsonl", `{"prompt": "the wh", "answer": "eel"}
{"messages": [{"role": "user", "content": "a"}]}
`)
	tok := chatty(t)
	list, err := LoadPrompts(path, tok, Template{Begin: "<s>", Chat: ChatML})
	if err != nil || len(list) != 2 {
		t.Fatalf("got %d prompts (%v), want 2", len(list), err)
	}
	for i, want := range []string{"<s>the wh", "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n"} {
		if got, err := tok.Decode(list[i].Tokens); err != nil || got != want {
			t.Errorf("got %q (%v), want %q", got, err, want)
		}
	}
	if list[0].Text != "the wh" || list[0].Answer != "eel" || list[1].Text != "a" || list[1].Answer != "" {
		t.Errorf("got %+v", list)
	}
}

// Lines that are neither are errors that name the file, the line and the key.
func TestLoadPairsRefuses(t *testing.T) {
	tok := chatty(t)
	for line, want := range map[string]string{
		"\n":                               "got none, want at least 1",
		`{}`:                               "line 1: want chosen and rejected",
		"\n{]":                             "line 2",
		`{"prompt": "a", "chosen": "b"}`:   "want chosen and rejected",
		`{"chosen": "a", "rejected": "b"}`: "chosen: without a prompt: got a string",
		`{"prompt": "a", "chosen": [], "rejected": "b"}`:                                                 "chosen: got a list",
		`{"prompt": "a", "chosen": "b", "rejected": 3}`:                                                  "rejected: got a number",
		`{"prompt": "", "chosen": "a", "rejected": "b"}`:                                                 "chosen: got 0 tokens of a prompt and 2 of its answer",
		`{"chosen": [{"role": "user", "content": "a"}], "rejected": [{"role": "user", "content": "a"}]}`: "the last message is the user's, want the assistant's",
	} {
		path := written(t, "pairs.jsonl", line)
		_, err := LoadPairs(path, tok, Template{Chat: ChatML})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	for line, want := range map[string]string{
		`{"answer": "a"}`: "want prompt, or messages",
		`{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}`: "want prompt, or " +
			"messages",
		`{"prompt": ""}`: "prompt: got no tokens",
	} {
		path := written(t, "prompts.jsonl", line)
		_, err := LoadPrompts(path, tok, Template{Chat: ChatML})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	if _, err := LoadPairs("pairs.jsonl", nil, Template{}); err == nil ||
		!strings.Contains(err.Error(), "pairs: the tokenizer is nil") {
		t.Errorf("got %v", err)
	}
}
