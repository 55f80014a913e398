package bpe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// node runs a JavaScript program with the question and stores its answer. The environment variable names the folder of
// the npm package; question and answer travel as JSON on stdin and stdout.
func node(t *testing.T, variable, pkg, program string, question, answer any) {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("npm's package %s is not part of this repository: set %s to its folder", pkg, variable)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("npm's package %s runs under node: %v", pkg, err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	const wrapper = `const asked = JSON.parse(require("fs").readFileSync(0, "utf8")), dir = process.argv[1];
		process.stdout.write(JSON.stringify((() => {` + "%s" + `})()))`
	cmd := exec.CommandContext(t.Context(), "node", "-e", fmt.Sprintf(wrapper, program), dir)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(asked), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(output, answer); err != nil {
		t.Fatal(err)
	}
}

// tiktoken returns the ids that OpenAI's own engine encodes texts to.
func tiktoken(t *testing.T, texts []string) (ids [][]int) {
	t.Helper()
	node(t, "PEDESTRIAN_TIKTOKEN", "tiktoken", `
		const gpt2 = require(dir).get_encoding("gpt2");
		return asked.map(s => Array.from(gpt2.encode_ordinary(s)))`, texts, &ids)
	if len(ids) != len(texts) {
		t.Fatalf("got %d answers to %d texts", len(ids), len(texts))
	}
	return ids
}

// mixed returns random texts of words, white space, numbers, contractions, controls, symbols and characters of every
// script in Go's tables. Characters assigned after Unicode 15.0 are omitted, because the engine cuts them by newer
// tables.
func mixed(n int) (list []string) {
	rng := rand.New(rand.NewPCG(5, 6))
	scripts := slices.Sorted(maps.Keys(unicode.Scripts))
	spaces := []rune(" \t\n\r\v\f\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u3000")
	words := []string{
		"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "’s", " the", "Then", " ROMEO", "<|endoftext|>", "🙂",
		"👩‍🚀", "👍🏽", "❤️",
	}
	run := func(most int, draw func() rune) string {
		var s strings.Builder
		for range 1 + rng.IntN(most) {
			s.WriteRune(draw())
		}
		return s.String()
	}
	kinds := []func() string{
		func() string { return run(9, func() rune { return ' ' + rng.Int32N(0x7F-' ') }) },
		func() string { return run(6, func() rune { return spaces[rng.IntN(len(spaces))] }) },
		func() string { return strings.Repeat(string(spaces[rng.IntN(3)]), 1+rng.IntN(20)) },
		func() string { return run(8, func() rune { return '0' + rng.Int32N(10) }) },
		func() string { return words[rng.IntN(len(words))] },
		func() string { return run(3, func() rune { return rng.Int32N(0xA0) }) },
		func() string { return run(2, func() rune { return 0x7F }) },
		func() string {
			of := unicode.Scripts[scripts[rng.IntN(len(scripts))]]
			return run(6, func() rune { return among(of, rng) })
		},
		func() string { return run(3, func() rune { return among(unicode.So, rng) }) },
		func() string { return run(3, func() rune { return among(unicode.N, rng) }) },
	}
	for range n {
		var s strings.Builder
		for range 1 + rng.IntN(12) {
			s.WriteString(kinds[rng.IntN(len(kinds))]())
		}
		list = append(list, s.String())
	}
	return list
}

// among returns a random character of a table. It draws a range first, so that a large range does not hide the others.
func among(table *unicode.RangeTable, rng *rand.Rand) rune {
	i := rng.IntN(len(table.R16) + len(table.R32))
	if i < len(table.R16) {
		r := table.R16[i]
		return rune(r.Lo) + rune(r.Stride)*rng.Int32N(int32((r.Hi-r.Lo)/r.Stride)+1)
	}
	r := table.R32[i-len(table.R16)]
	return rune(r.Lo) + rune(r.Stride)*rng.Int32N(int32((r.Hi-r.Lo)/r.Stride)+1)
}

// OpenAI's engine and this package return the same ids, for all of Shakespeare and for random texts.
func TestGPT2Tiktoken(t *testing.T) {
	tok := gpt2(t)
	texts := mixed(20_000)
	if shakespeare, err := os.ReadFile(os.Getenv("PEDESTRIAN_TEXT")); err == nil {
		texts = append(texts, string(shakespeare))
	}
	all := 0
	for i, want := range tiktoken(t, texts) {
		got, err := tok.Encode(texts[i])
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%.200q: got %v, %v, want %v", texts[i], got[:min(50, len(got))], err, want[:min(50, len(want))])
		}
		if back, err := tok.Decode(got); err != nil || back != texts[i] {
			t.Fatalf("%.200q: comes back as %.200q, %v", texts[i], back, err)
		}
		all += len(got)
	}
	t.Logf("%d tokens of %d texts", all, len(texts))
}

// paired returns the tokenizer.json of an encoding over bytes whose merges join any two of some characters, so that
// the ids show every cut of a text.
func paired(t *testing.T, preTokenizer string) json.RawMessage {
	vocab, merges := strings.Builder{}, strings.Builder{}
	plain, n := string(tiny(t)), 270
	const some = "0123456789aesltST'!? \n\r\t"
	for _, a := range []byte(some) {
		for _, b := range []byte(some) {
			x, y := string(alphabet[a]), string(alphabet[b])
			if strings.Contains(plain, fmt.Sprintf("%q:", x+y)) { // learnt from the rhyme
				continue
			}
			fmt.Fprintf(&vocab, "%q:%d,", x+y, n)
			fmt.Fprintf(&merges, "%q,", x+" "+y)
			n++
		}
	}
	return tiny(
		t, byteLevelSection, preTokenizer, `"vocab":{`, `"vocab":{`+vocab.String(), `"merges":[`,
		`"merges":[`+merges.String(),
	)
}

// foreign reports a number that is no ASCII digit.
func foreign(r rune) bool { return r > unicode.MaxASCII && unicode.IsNumber(r) }

// Hugging Face's program for browsers opens every form of file that this package reads and writes, and returns the
// same ids. Texts that JavaScript treats differently are omitted: it does not treat U+0085 as white space, but U+FEFF,
// and its Digits cut only at ASCII digits.
func TestHuggingFaceTokenizers(t *testing.T) {
	written, err := json.Marshal(trained(t, 600, "<|endoftext|>"))
	if err != nil {
		t.Fatal(err)
	}
	type question struct {
		Tokenizer json.RawMessage
		Texts     []string
	}
	asked := []question{{Tokenizer: written}, {Tokenizer: llama(blankNormalizer, "null")}}
	for section := range preTokenizers() {
		asked = append(asked, question{Tokenizer: paired(t, section)})
	}
	for i, q := range asked {
		digits := bytes.Contains(q.Tokenizer, []byte(`"Digits"`))
		for _, text := range mixed(2000) {
			if !strings.ContainsAny(text, "\u0085\ufeff") && !strings.Contains(text, "<|endoftext|>") &&
				!(digits && strings.ContainsFunc(text, foreign)) {
				asked[i].Texts = append(asked[i].Texts, text)
			}
		}
	}
	var answers [][][]int
	node(t, "PEDESTRIAN_TOKENIZERS", "@huggingface/tokenizers", `
		const { Tokenizer } = require(dir + "/dist/tokenizers.cjs");
		return asked.map(q => {
			const tok = new Tokenizer(q.Tokenizer, {});
			return q.Texts.map(s => Array.from(tok.encode(s, { add_special_tokens: false }).ids));
		})`, asked, &answers)
	if len(answers) != len(asked) {
		t.Fatalf("got %d answers to %d questions", len(answers), len(asked))
	}
	for i, q := range asked {
		tok, err := Read(q.Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		different := 0
		for j, text := range q.Texts {
			got, err := tok.Encode(text)
			if err != nil || !slices.Equal(got, answers[i][j]) {
				if different++; different < 4 {
					t.Errorf("tokenizer %d: %q: got %v, %v, want %v", i, text, got, err, answers[i][j])
				}
			}
		}
		if different > 0 {
			t.Errorf("tokenizer %d, %.300s…: %d of %d differ", i, q.Tokenizer, different, len(q.Texts))
		}
	}
}

// Hugging Face's program finds the same added tokens if several begin at one place or overlap.
func TestHuggingFaceTokenizersSpecial(t *testing.T) {
	special := []string{"<a", "<a>", "<a><", "<|a|>", "ab", "abc", "bcd", "日", "日日", " <b>"}
	data := withAdded(t, len(special), func(i int) string { return special[i] })
	rng := rand.New(rand.NewPCG(11, 12))
	var texts []string
	for range 2000 {
		var s strings.Builder
		for range rng.IntN(12) {
			s.WriteString([]string{"<", "a", "b", "c", "d", ">", "|", "日", " ", "<a", "the"}[rng.IntN(11)])
		}
		texts = append(texts, s.String())
	}
	var answers [][]int
	node(t, "PEDESTRIAN_TOKENIZERS", "@huggingface/tokenizers", `
		const { Tokenizer } = require(dir + "/dist/tokenizers.cjs");
		const tok = new Tokenizer(asked.Tokenizer, {});
		return asked.Texts.map(s => Array.from(tok.encode(s, { add_special_tokens: false }).ids));`,
		map[string]any{"Tokenizer": json.RawMessage(data), "Texts": texts}, &answers)
	tok, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if got, err := tok.EncodeSpecial(text); err != nil || !slices.Equal(got, answers[i]) {
			t.Fatalf("%q: got %v, %v, want %v", text, got, err, answers[i])
		}
	}
}

// Bytes that are not text also come back from GPT-2's tokens.
func TestGPT2Bytes(t *testing.T) {
	tok := gpt2(t)
	for _, text := range texts(2000) {
		ids, err := tok.Encode(text)
		if back, wrong := tok.Decode(ids); err != nil || wrong != nil || back != text {
			t.Fatalf("%q: comes back as %q, %v, %v", text, back, err, wrong)
		}
	}
}
