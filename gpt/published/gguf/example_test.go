package gguf_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/gpt/published/gguf"
)

// A written file is mapped into memory. Its tensors are read row by row.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.gguf")
	w, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	err = gguf.Write(w,
		[]gguf.Key{
			{Name: "general.architecture", Value: gguf.OfText("llama")},
			{Name: "llama.block_count", Value: gguf.OfInt(2)},
			{Name: "llama.rope.freq_base", Value: gguf.OfFloat(10_000)},
			{Name: "tokenizer.ggml.add_bos_token", Value: gguf.OfBool(true)},
			{Name: "tokenizer.ggml.tokens", Value: gguf.OfStrings([]string{"<s>", "a"})},
			{Name: "tokenizer.ggml.token_type", Value: gguf.OfInts([]int{3, 1})},
			{Name: "tokenizer.ggml.scores", Value: gguf.OfFloats([]float32{0, -1})},
		},
		[]gguf.Entry{{Name: "output_norm.weight", Shape: []int{3}, Type: gguf.F32}},
		func(int) ([]float32, error) { return []float32{1, 0.5, -2}, nil })
	if err := errors.Join(err, w.Close()); err != nil {
		log.Fatal(err)
	}

	f, err := gguf.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	family, _ := f.Find("general.architecture")
	fmt.Println(family, "with", len(f.Keys), "keys")
	for _, t := range f.Tensors {
		x := make([]float32, t.Len())
		if err := t.Values(x, 0); err != nil {
			log.Fatal(err)
		}
		blocks, _ := t.Blocks()
		fmt.Println(t.Name, t.Type, t.Shape, x, len(blocks), "bytes")
	}
	// Output:
	// "llama" with 7 keys
	// output_norm.weight F32 [3] [1 0.5 -2] 12 bytes
}

// A file may also be in memory.
func ExampleRead() {
	_, err := gguf.Read([]byte("GGML"))
	fmt.Println(err)
	// Output: gguf: the first bytes: got "GGML", want GGUF
}

// The methods of a value return an error if it is of another kind.
func ExampleValue() {
	n, err := gguf.OfInt(32).Int()
	fmt.Println(n, err)
	x, err := gguf.OfFloat(0.5).Float()
	fmt.Println(x, err)
	flag, err := gguf.OfBool(true).Bool()
	fmt.Println(flag, err)
	text, err := gguf.OfText("llama").Text()
	fmt.Println(text, err)
	words, err := gguf.OfStrings([]string{"a", "b"}).Strings()
	fmt.Println(words, err)
	ids, err := gguf.OfInts([]int{1, 2}).Ints()
	fmt.Println(ids, err)
	scores, err := gguf.OfFloats([]float32{-1, 2}).Floats()
	fmt.Println(scores, err)
	_, err = gguf.OfText("llama").Int()
	fmt.Println(err)
	// Output:
	// 32 <nil>
	// 0.5 <nil>
	// true <nil>
	// llama <nil>
	// [a b] <nil>
	// [1 2] <nil>
	// [-1 2] <nil>
	// got "llama", want a whole number from 0 to 2³¹−1
}

// A block holds one number, 32 or 256.
func ExampleType() {
	for _, t := range []gguf.Type{
		gguf.F32, gguf.F16, gguf.BF16, gguf.Q8_0, gguf.Q5_1, gguf.Q5_0, gguf.Q4_1, gguf.Q4_0, gguf.Q6_K, gguf.Q5_K,
		gguf.Q4_K,
		gguf.MXFP4,
	} {
		numbers, bytes := t.Block()
		fmt.Printf("%s: %d in %d bytes\n", t, numbers, bytes)
	}
	// Output:
	// F32: 1 in 4 bytes
	// F16: 1 in 2 bytes
	// BF16: 1 in 2 bytes
	// Q8_0: 32 in 34 bytes
	// Q5_1: 32 in 24 bytes
	// Q5_0: 32 in 22 bytes
	// Q4_1: 32 in 20 bytes
	// Q4_0: 32 in 18 bytes
	// Q6_K: 256 in 210 bytes
	// Q5_K: 256 in 176 bytes
	// Q4_K: 256 in 144 bytes
	// MXFP4: 32 in 17 bytes
}
