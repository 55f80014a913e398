package text_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

func ExampleTokenizer() {
	tok, err := text.NewTokenizer("hello world")
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
func ExampleSplit_Sample() {
	split := text.Split{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := make([]int, 6), make([]int, 6)
	if err := split.Sample(rng, x, y, 3); err != nil {
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
func ExampleSplit_Blocks() {
	split := text.Split{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	x, y := make([]int, 6), make([]int, 6)
	blocks, err := split.Blocks(x, y, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for rows := range blocks {
		fmt.Println(rows, x, y)
	}
	// Output:
	// 2 [10 11 12 13 14 15] [11 12 13 14 15 16]
	// 1 [16 17 18 0 0 0] [17 18 19 -1 -1 -1]
}

func ExampleNewCorpus() {
	const poem = "A lamp in the window,\nrain upon the roof tonight."
	tok, err := text.NewTokenizer(poem)
	if err != nil {
		fmt.Println(err)
		return
	}
	corpus, err := text.NewCorpus(poem, tok, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(corpus.Train), len(corpus.Val))
	_, err = text.NewCorpus(poem, tok, 8)
	fmt.Println(err)
	// Output:
	// 44 5
	// corpus: validation split: got 5 tokens, want at least 9 (block_size 8 and one target more)
}
