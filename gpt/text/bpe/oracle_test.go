package bpe

import (
	"bytes"
	"encoding/json"
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

// tiktoken is what OpenAI's own engine encodes texts to: npm's package of that name, in the folder that
// PEDESTRIAN_TIKTOKEN names, under node.
func tiktoken(t *testing.T, texts []string) (ids [][]int) {
	t.Helper()
	dir := os.Getenv("PEDESTRIAN_TIKTOKEN")
	if dir == "" {
		t.Skip("OpenAI's engine is not part of this repository: PEDESTRIAN_TIKTOKEN names a folder with npm's package tiktoken")
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("OpenAI's engine runs under node: ", err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	const program = `const gpt2 = require(process.argv[1]).get_encoding("gpt2");
		const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
		process.stdout.write(JSON.stringify(texts.map(s => Array.from(gpt2.encode_ordinary(s)))));`
	asked, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(t.Context(), "node", "-e", program, dir)
	node.Stdin, node.Stderr = bytes.NewReader(asked), os.Stderr
	answer, err := node.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer, &ids); err != nil || len(ids) != len(texts) {
		t.Fatalf("got %d answers to %d texts, %v", len(ids), len(texts), err)
	}
	return ids
}

// mixed are random texts of words, white space, numbers, contractions, controls, symbols and characters of every script
// that Go's tables know: characters assigned after Unicode 15.0 are left out, because the engine cuts them by newer
// tables.
func mixed(n int) (list []string) {
	rng := rand.New(rand.NewPCG(5, 6))
	scripts := slices.Sorted(maps.Keys(unicode.Scripts))
	spaces := []rune(" \t\n\r\v\f\u0085\u00a0\u1680\u2003\u2028\u2029\u202f\u3000")
	words := []string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "’s", " the", "Then", " ROMEO", "<|endoftext|>", "🙂", "👩‍🚀", "👍🏽", "❤️"}
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

// among is a random character of a table: of a range drawn first, so that a large one does not hide the others.
func among(table *unicode.RangeTable, rng *rand.Rand) rune {
	i := rng.IntN(len(table.R16) + len(table.R32))
	if i < len(table.R16) {
		r := table.R16[i]
		return rune(r.Lo) + rune(r.Stride)*rng.Int32N(int32((r.Hi-r.Lo)/r.Stride)+1)
	}
	r := table.R32[i-len(table.R16)]
	return rune(r.Lo) + rune(r.Stride)*rng.Int32N(int32((r.Hi-r.Lo)/r.Stride)+1)
}

// OpenAI's engine and this package give the same ids: to all of Shakespeare, and to random texts, which come back.
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

// Bytes that are no text come back from GPT-2's tokens, too.
func TestGPT2Bytes(t *testing.T) {
	tok := gpt2(t)
	for _, text := range texts(2000) {
		ids, err := tok.Encode(text)
		if back, wrong := tok.Decode(ids); err != nil || wrong != nil || back != text {
			t.Fatalf("%q: comes back as %q, %v, %v", text, back, err, wrong)
		}
	}
}
