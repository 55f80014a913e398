package text_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

func ExampleCharacters() {
	tok, err := text.NewCharacters("hello world")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, _ := tok.Encode("hello")
	back, _ := tok.Decode(ids)
	data, _ := json.Marshal(tok)
	fmt.Println(tok.Size(), ids, back)
	fmt.Println(string(data))
	_, err = tok.Encode("help")
	fmt.Println(err)
	// Output:
	// 8 [3 2 4 4 5] hello
	// {"type":"character","vocab":" dehlorw"}
	// tokenizer: character 'p' (U+0070) at position 3 is not in the vocabulary of 8 characters
}

// Two rows of three tokens for training: y is x, one token on.
func ExampleSample() {
	split := text.Tokens{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := make([]int, 6), make([]int, 6)
	if err := text.Sample(split, rng, x, y, 3); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x)
	fmt.Println(y)
	// Output:
	// [15 16 17 14 15 16]
	// [16 17 18 15 16 17]
}

// Three blocks of three tokens in batches of two: the tenth token is only ever
// a target.
func ExampleBlocks() {
	split := text.Tokens{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	x, y := make([]int, 6), make([]int, 6)
	for rows, err := range text.Blocks(split, x, y, 3) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rows, x, y)
	}
	// Output:
	// 2 [10 11 12 13 14 15] [11 12 13 14 15 16]
	// 1 [16 17 18 0 0 0] [17 18 19 -1 -1 -1]
}

func ExampleNewCorpus() {
	const poem = "A lamp in the window,\nrain upon the roof tonight."
	tok, err := text.NewCharacters(poem)
	if err != nil {
		fmt.Println(err)
		return
	}
	corpus, err := text.NewCorpus(poem, tok, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(corpus.Train().Len(), corpus.Val().Len())
	_, err = text.NewCorpus(poem, tok, 8)
	fmt.Println(err)
	// Output:
	// 44 5
	// corpus: validation split: got 5 tokens, want at least 9 (block_size 8 and one target more)
}

// answers is a user-defined tokenizer with a vocabulary of two answers, opened from the tokenizer.json of a
// checkpoint.
type answers struct{}

func (answers) Size() int                    { return 2 }
func (answers) MarshalJSON() ([]byte, error) { return []byte(`{"type":"answers"}`), nil }

func (answers) Encode(s string) (ids []int, err error) {
	for i, word := range strings.Fields(s) {
		id := slices.Index([]string{"no", "yes"}, word)
		if id < 0 {
			return nil, fmt.Errorf("answer %d is %q, want yes or no", i, word)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (answers) Decode(ids []int) (string, error) {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = []string{"no", "yes"}[id&1]
	}
	return strings.Join(words, " "), nil
}

func ExampleOpen() {
	own := text.Kind{Name: "answers", Open: func([]byte) (text.Tokenizer, error) { return answers{}, nil }}
	tok, err := text.Open([]byte(`{"type":"answers"}`), own)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(tok.Encode("yes no yes"))
	// Output: [1 0 1] <nil>
}

// countdown is a user-defined corpus, computed when it is read: the digits of n repeated for ever.
type countdown struct{ n, tokens int }

func (c countdown) Train() text.Split { return c }
func (c countdown) Val() text.Split   { return countdown{c.n, c.tokens / 10} }
func (c countdown) SHA256() string    { return fmt.Sprintf("countdown from %d", c.n) }
func (c countdown) Len() int          { return c.tokens }

func (c countdown) Read(ids []int, at int) error {
	for i := range ids {
		ids[i] = c.n - 1 - (at+i)%c.n
	}
	return nil
}

func ExampleCorpus() {
	var corpus text.Corpus = countdown{10, 1_000_000}
	x, y := make([]int, 4), make([]int, 4)
	if err := text.Sample(corpus.Train(), rand.New(rand.NewPCG(1, 2)), x, y, 4); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(x, y)
	// Output: [9 8 7 6] [8 7 6 5]
}

// Tokens that come one by one are written to disk, where a model can be trained on them.
func ExampleWriteShards() {
	dir, err := os.MkdirTemp("", "shards")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	squares := func(n int) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) {
			for i := 0; i < n && yield(i*i%256, nil); i++ {
			}
		}
	}
	if err := text.WriteShards(dir, text.Bytes{}, 100, squares(250), squares(20)); err != nil {
		fmt.Println(err)
		return
	}
	shards, err := text.OpenShards(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shards.Close()
	fmt.Println(shards.Train().Len(), shards.Val().Len(), shards.Tokenizer.Size(), shards.Verify())
	// Output: 250 20 256 <nil>
}

// The text of tokens as a decoder would draw them. A letter may be several tokens and is yielded once it is complete;
// the possible beginning of a stop string is yielded once it turns out not to be one.
func ExampleStream() {
	ids, err := text.Bytes{}.Encode("é – …\nROMEO: No.\n\nJULIET: Ay.")
	if err != nil {
		fmt.Println(err)
		return
	}
	for piece, err := range text.Stream(text.Bytes{}, text.All(text.Tokens(ids)), "\n\n", "\nJULIET:") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%q ", piece)
	}
	// Output: "é" " " "–" " " "…" "\nR" "O" "M" "E" "O" ":" " " "N" "o" "."
}

// A turn ends with either of two tokens.
func ExampleUntil() {
	for id, err := range text.Until(text.All(text.Tokens{5, 9, 2, 1, 7}), 1, 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(id, " ")
	}
	// Output: 5 9 2
}
