package chat

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// chatty returns byte pairs with the special tokens of templates.
func chatty(t testing.TB) *bpe.Tokenizer {
	t.Helper()
	tok, err := bpe.Train("the wheel goes round and round", 270, "<|endoftext|>", "<|im_start|>", "<|im_end|>", "</s>",
		"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<s>")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// characters returns the tokenizer of the characters of s.
func characters(t testing.TB, s string) *text.Characters {
	t.Helper()
	tok, err := text.NewCharacters(s)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// wantError fails unless err is not nil and contains each of words.
func wantError(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("got error %q, want it to say %q", err, w)
		}
	}
}

func written(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// spell returns the text of tokens, with each answer's target in brackets.
func spell(t testing.TB, tok text.Tokenizer, ids, targets []int) string {
	t.Helper()
	var s strings.Builder
	for i, id := range ids {
		token, err := tok.Decode([]int{id})
		if err != nil {
			t.Fatal(err)
		}
		if s.WriteString(token); targets[i] != text.Ignore {
			next, _ := tok.Decode(targets[i : i+1])
			s.WriteString("[" + next + "]")
		}
	}
	return s.String()
}

// Every example is a row. Only answers and their ends are targets. Long examples are cut, short ones are padded.
func TestLoadAnswers(t *testing.T) {
	path := written(t, "pairs.jsonl", `{"prompt": "ab", "completion": "cd", "id": 7}

{"completion": "ghijklmnop", "prompt": "ef<|endoftext|>"}
{"prompt": "q", "completion": ""}
`)
	tok := chatty(t)
	c, err := LoadAnswers(path, tok, Template{}, 20)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := c.Train().Len(), c.Val().Len(); a != 41 || b != 21 {
		t.Errorf("got %d and %d tokens, want 2 and 1 rows of 20, plus 1", a, b)
	}
	x, y := make([]int, 40), make([]int, 40)
	for rows, err := range text.Blocks(c.Train(), x, y, 20) {
		if err != nil || rows != 2 {
			t.Fatal(rows, err)
		}
		pad, _ := tok.Decode([]int{0})
		got := spell(t, tok, x, y)
		want := "ab[c]c[d]d[<|endoftext|>]<|endoftext|>" + strings.Repeat(pad, 15) +
			"ef<|endoftext|>[g]g[h]h[i]i[j]j[k]k[l]l[m]" // the end of a prompt is ordinary text; nd is one token
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	for rows, err := range text.Blocks(c.Val(), x[:20], y[:20], 20) {
		if got := spell(t, tok, x[:2], y[:2]); err != nil || rows != 1 || got != "q[<|endoftext|>]<|endoftext|>" {
			t.Errorf("got %s (%v)", got, err)
		}
	}
	rng, seen := rand.New(rand.NewPCG(1, 2)), map[int]int{}
	for range 100 {
		if err := text.Sample(c.Train(), rng, x, y, 20); err != nil {
			t.Fatal(err)
		}
		for row := 0; row < 40; row += 20 {
			seen[x[row]]++
		}
	}
	first, err := tok.Encode("aeq")
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 || min(seen[first[0]], seen[first[1]]) < 70 {
		t.Errorf("the rows begin with %v, want a and e, each about 100 times", seen)
	}
	wantError(t, text.Sample(c.Train(), rng, x, y, 10), "block_size: got 10, want the 20 of the examples")
	if n := testing.AllocsPerRun(10, func() { text.Sample(c.Train(), rng, x, y, 20) }); n != 0 {
		t.Errorf("a batch allocates %v times", n)
	}
	n := 0
	for id, err := range text.All(c.Val()) {
		if n++; err != nil || n == 1 && id != first[2] || n > 2 && id != 0 {
			t.Errorf("token %d: %d (%v)", n, id, err)
		}
	}
	if err := c.Val().Read(x, 0); err == nil {
		t.Error("reading 40 of 21 tokens: got no error")
	}
	path = written(t, "short.jsonl", strings.Repeat(`{"prompt": "q", "completion": ""}`+"\n", 20))
	if c, err = LoadAnswers(path, tok, Template{End: "</s>", Begin: "<s>"}, 3); err != nil {
		t.Fatal(err)
	}
	if a, b := c.Train().Len(), c.Val().Len(); a != 18*3+1 || b != 2*3+1 {
		t.Errorf("got %d and %d tokens, want 18 and 2 rows of 3, plus 1", a, b)
	}
	err = text.Sample(c.Val(), rng, x[:3], y[:3], 3)
	if err != nil || spell(t, tok, x[:3], y[:3]) != "<s>q[</s>]</s>" {
		t.Errorf("got %s (%v)", spell(t, tok, x[:3], y[:3]), err)
	}
}

func TestLoadAnswersRefuses(t *testing.T) {
	good := `{"prompt": "a", "completion": "b"}` + "\n"
	for content, words := range map[string][]string{
		good:                     {"got 1 examples, want at least 2"},
		good + "{}\n":            {"line 2: want prompt and completion, or messages"},
		good + `{"prompt": "a"}`: {"line 2: want prompt and completion"},
		good + `{"prompt": "a", "completion": ["b"]}`: {"line 2", "completion"},
		good + "\n" + `{"prompt": "a"`:                {"line 3", "unexpected end"},
		good + `{"prompt": "abcdef", "completion": "g"}`: {
			"line 2: got 7 tokens without an answer's among the first block_size 5",
		},
		good + `{"prompt": "a", "completion": ""}`:   {"line 2: got 1 tokens without an answer's"},
		good + `{"messages": []}`:                    {"line 2: messages: there is no chat_template"},
		good + `{"completion": "a"}`:                 {"line 2: want prompt and completion, or messages"},
		good + `{"messages": [], "completion": "a"}`: {"line 2: want prompt and completion, or messages"},
		good + `{"messages": [], "prompt": "a", "completion": "b"}`: {
			"line 2: want prompt and completion, or messages",
		},
		good + `{"messages": [], "prompt": "a"}`:          {"line 2: want prompt and completion, or messages"},
		`{"prompt": "a", "completion": "` + "\x00" + `"}`: {"NUL"},
		"": {"is empty"},
	} {
		_, err := LoadAnswers(written(t, "bad.jsonl", content), text.Bytes{}, Template{}, 5)
		wantError(t, err, append(words, "bad.jsonl")...)
	}
	path := written(t, "good.jsonl", good+good)
	if c, err := LoadAnswers(path, text.Bytes{}, Template{}, 1); err != nil || c.Train().Len() != 2 {
		t.Errorf("the smallest corpus: got %v (%v)", c, err)
	}
	_, err := LoadAnswers(path, nil, Template{}, 5)
	wantError(t, err, "the tokenizer is nil")
	_, err = LoadAnswers(path, text.Bytes{}, Template{}, 0)
	wantError(t, err, "block_size: got 0")
	_, err = LoadAnswers(path+"x", text.Bytes{}, Template{}, 5)
	wantError(t, err, "no such file")
	_, err = LoadAnswers(path, characters(t, "a"), Template{}, 5)
	wantError(t, err, "line 1", "b")
}

// A reader parses its template once.
func TestReaderParsesOnce(t *testing.T) {
	r := &reader{Template: Template{Chat: ChatML}, tok: text.Bytes{}}
	var first *Writer
	for range 2 {
		if _, _, err := r.conversation([]Message{{Role: "user", Content: "Hi"}}); err != nil {
			t.Fatal(err)
		}
		if first != nil && r.chat != first {
			t.Error("got another template, want the parsed one")
		}
		first = r.chat
	}
}
