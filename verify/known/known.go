// Package known holds published results of published models, to compare a folder of one with: the sizes and hashes of
// its files, the ids of texts, continuations, and the loss and the gradients of a batch. Start with Models, which
// lists them.
package known

import "fmt"

// Model holds the published facts of a model. Zero fields are not published.
type Model struct {
	Name                            string
	Layers, Heads, Embedding, Vocab int // by which a folder is recognised
	Parameters                      int64
	Files                           []File
	Tokens                          *Tokens
	Greedy                          []Continuation
	Batch                           *Batch
}

// File is a file by its name, its size and the hash of its bytes.
type File struct {
	Name   string
	Bytes  int64
	SHA256 string
}

// Tokens holds the tokenizer's results for texts.
type Tokens struct {
	IDs             []Encoded
	Special         []Encoded // if special tokens stand for themselves
	Text            string    // SHA-256 of the text of the rest
	Train, Val, All Tokenized // nanoGPT's parts of it, and the entire text
}

// Encoded is a text and its ids.
type Encoded struct {
	Text string
	IDs  []int
}

// Tokenized is the number of tokens, and the SHA-256 of them as uint16, little-endian.
type Tokenized struct {
	Tokens int
	SHA256 string
}

// Continuation is a model's continuation with the likeliest token at each step, as ids or as a text.
type Continuation struct {
	Prompt, Text string
	IDs, More    []int
}

// Batch holds the results for the first tokens of a text in llm.c's form: rows of width tokens, with targets
// shifted by one.
type Batch struct {
	Text        string // its SHA-256
	First       int    // number of llm.c's tokens to validate on; the others are to train on
	Val, Train  Tokenized
	Rows, Width int
	Loss        float64
	Logits      []float64 // of the first token
	Gradients   []Gradient
	Losses      []float64 // before each step on that batch
}

// Gradient holds the first derivatives of the loss by a parameter.
type Gradient struct {
	Parameter string
	Values    []float64
}

// Models returns the models with published results.
func Models() []Model {
	return []Model{
		gpt2(),
		{
			Name: "distilgpt2", Layers: 6, Heads: 12, Embedding: 768, Vocab: 50257, Parameters: 81_912_576,
			Tokens: gpt2Tokens(),
			Files: []File{
				{"config.json", 762, "4ec5947c1d59fee6212cdf3b0ec1a53eac02092554c5ff0a733488cbd2c64f3a"},
				{"model.safetensors", 352_824_413, "e1ff18884359fe8beb795a5f414feb85a6ce3d929ad019c0d958c039d2b94a1b"},
			},
		},
		{
			Name: "gpt2-medium", Layers: 24, Heads: 16, Embedding: 1024, Vocab: 50257, Parameters: 354_823_168,
			Tokens: gpt2Tokens(),
		},
		{
			Name: "gpt2-large", Layers: 36, Heads: 20, Embedding: 1280, Vocab: 50257, Parameters: 774_030_080,
			Tokens: gpt2Tokens(),
		},
		{
			Name: "gpt2-xl", Layers: 48, Heads: 25, Embedding: 1600, Vocab: 50257, Parameters: 1_557_611_200,
			Tokens: gpt2Tokens(),
		},
		{Name: "SmolLM2-135M", Layers: 30, Heads: 9, Embedding: 576, Vocab: 49152, Parameters: 134_515_008},
		{Name: "stories15M", Layers: 6, Heads: 6, Embedding: 288, Vocab: 32000, Parameters: 15_191_712},
	}
}

// String returns the size and the hash of f.
func (f File) String() string { return fmt.Sprintf("%d bytes, sha256 %s", f.Bytes, f.SHA256) }

// String returns the number and the hash of t.
func (t Tokenized) String() string { return fmt.Sprintf("%d tokens, sha256 %s", t.Tokens, t.SHA256) }
