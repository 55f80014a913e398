package bpe

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// gpt2 returns the encoding of GPT-2, whose files are in the folder named by PEDESTRIAN_GPT2: vocab.json and
// merges.txt, or encoder.json and vocab.bpe as OpenAI called them.
func gpt2(t testing.TB) *Tokenizer {
	t.Helper()
	dir := os.Getenv("PEDESTRIAN_GPT2")
	if dir == "" {
		t.Skip(
			"GPT-2's vocabulary is not part of this repository: set PEDESTRIAN_GPT2 to a folder with vocab.json and " +
				"merges.txt",
		)
	}
	read := func(names ...string) []byte {
		for _, name := range names {
			if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
				return data
			}
		}
		t.Fatalf("PEDESTRIAN_GPT2: none of %v in %s", names, dir)
		return nil
	}
	tok, err := ReadGPT2(read("vocab.json", "encoder.json"), read("merges.txt", "vocab.bpe"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// The ids are the ids of OpenAI's own program.
func TestGPT2(t *testing.T) {
	tok := gpt2(t)
	if tok.Size() != 50257 {
		t.Errorf("got %d tokens, want 50257", tok.Size())
	}
	for text, want := range map[string][]int{
		"Hello world":           {15496, 995},
		"Hello, World!":         {15496, 11, 2159, 0},
		"\n":                    {198},
		"\n\n":                  {628},
		" ":                     {220},
		"hello <|endoftext|>":   {31373, 1279, 91, 437, 1659, 5239, 91, 29},
		"<|endoftext|>":         {27, 91, 437, 1659, 5239, 91, 29},
		"Once upon a time":      {7454, 2402, 257, 640},
		"naïve café":            {2616, 38776, 40304},
		"日本語":                   {33768, 98, 17312, 105, 45739, 252},
		"🙂":                     {8582, 25081},
		"1234567890":            {10163, 2231, 30924, 3829},
		"it's I'll we've DON'T": {270, 338, 314, 1183, 356, 1053, 23917, 6, 51},
		"    def f(x):\n        return x": {
			220, 220, 220, 825, 277, 7, 87, 2599, 198, 220, 220, 220, 220, 220, 220, 220, 1441, 2124,
		},
		"0":                 {15},
		"00":                {405},
		"000":               {830},
		"0000":              {2388},
		"00000":             {20483},
		"0000000000000000":  {25645},
		"00000000000000000": {8269, 10535, 830},
	} {
		if got, err := tok.Encode(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	if got, err := tok.EncodeSpecial("hello <|endoftext|>"); err != nil ||
		!slices.Equal(got, []int{31373, 220, 50256}) {
		t.Errorf("with the special token: got %v, %v", got, err)
	}
}

// nanoGPT's files of Shakespeare have 301,966 tokens to train and 36,059 to validate on; the last case is the entire
// text.
func TestGPT2Shakespeare(t *testing.T) {
	tok := gpt2(t)
	path := os.Getenv("PEDESTRIAN_TEXT")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Skip("set PEDESTRIAN_TEXT to tinyshakespeare's input.txt, which is not part of this repository")
	}
	text := string(data)
	cut := len(text) * 9 / 10
	for _, c := range []struct {
		text   string
		tokens int
		sha256 string
	}{
		{text[:cut], 301966, "502a2bdc8210d1ac5d5674867cb74467dd31db575d25cf6dbb08c8bdbea8680f"},
		{text[cut:], 36059, "68a53422394c26a655ebe641f5c6f49888e8f4e45fe5d6f02abda63ba3ebd65b"},
		{text, 338025, "25c01b32b32f41897a6359dd222ec114992dc30c357bcafbfe6c56672f76cd31"},
	} {
		ids, err := tok.Encode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		for _, id := range ids {
			binary.Write(h, binary.LittleEndian, uint16(id))
		}
		if got := hex.EncodeToString(h.Sum(nil)); len(ids) != c.tokens || got != c.sha256 {
			t.Errorf("got %d tokens of SHA-256 %s, want %d of %s", len(ids), got, c.tokens, c.sha256)
		}
	}
}

// BenchmarkGPT2 measures bytes/s of encoding a text, and the time of reading the files.
func BenchmarkGPT2(b *testing.B) {
	tok := gpt2(b)
	text, err := os.ReadFile(os.Getenv("PEDESTRIAN_TEXT"))
	if err != nil {
		b.Skip("PEDESTRIAN_TEXT does not name a file")
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			tok.Encode(string(text))
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			gpt2(b)
		}
	})
}
