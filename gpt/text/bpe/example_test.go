package bpe_test

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
)

// Train learns an encoding from a text; it is written as a tokenizer.json that other programs read as well.
func ExampleTrain() {
	tok, err := bpe.Train(strings.Repeat("the cat, the hat, that cat\n", 10), 265, "<|endoftext|>")
	if err != nil {
		fmt.Println(err)
		return
	}
	ids, _ := tok.EncodeSpecial("the hat<|endoftext|>")
	for _, id := range ids {
		token, _ := tok.Decode([]int{id})
		fmt.Printf("%d %q\n", id, token)
	}
	// Output:
	// 263 "the"
	// 262 " hat"
	// 264 "<|endoftext|>"
}

// Read reads a published file, or refuses it and names the unsupported part.
func ExampleRead() {
	_, err := bpe.Read([]byte(`{"model":{"type":"Unigram","vocab":[["a",-1.5]]}}`))
	fmt.Println(err)
	// Output: model: type: got "Unigram", want BPE
}

// NextSpecial finds the tokens that stand for themselves in the text of a template, and EncodeAfter encodes what
// follows one.
func ExampleTokenizer_NextSpecial() {
	tok, err := bpe.Train(strings.Repeat("the cat, the hat, that cat\n", 10), 267, "[INST]", "[/INST]")
	if err != nil {
		fmt.Println(err)
		return
	}
	text := "[INST] hat"
	at, end, id := tok.NextSpecial(text)
	ids, err := tok.EncodeAfter(text[end:])
	fmt.Println(at, end, id, ids, err)
	// Output: 0 6 265 [262] <nil>
}
