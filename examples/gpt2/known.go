package main

import "github.com/pedestrian-ml/pedestrian/gpt"

// known holds the published facts of a model. Zero fields are not published.
type known struct {
	name                            string
	layers, heads, embedding, vocab int // by which a folder is recognised
	parameters                      int64
	files                           []knownFile
	tokens                          *knownTokens
	greedy                          []continuation
	batch                           *knownBatch
}

type knownFile struct {
	name   string
	bytes  int64
	sha256 string
}

// knownTokens holds the tokenizer's results for texts.
type knownTokens struct {
	ids             []encoded
	special         []encoded // if special tokens stand for themselves
	text            string    // SHA-256 of the text of the rest
	train, val, all tokenized // nanoGPT's parts of it, and the entire text
}

type encoded struct {
	text string
	ids  []int
}

// tokenized is the number of tokens, and the SHA-256 of them as uint16, little-endian.
type tokenized struct {
	tokens int
	sha256 string
}

// continuation is a model's continuation with the likeliest token at each step, as ids or as a text.
type continuation struct {
	prompt, text string
	ids, more    []int
}

// knownBatch holds the results for the first tokens of a text in llm.c's form: rows of width tokens, with targets
// shifted by one.
type knownBatch struct {
	text        string // its SHA-256
	first       int    // number of llm.c's tokens to validate on; the others are to train on
	val, train  tokenized
	rows, width int
	loss        float64
	logits      []float64 // of the first token
	gradients   []knownGradient
	losses      []float64 // before each step on that batch
}

// knownGradient holds the first derivatives of the loss by a parameter.
type knownGradient struct {
	parameter string
	values    []float64
}

// published returns the models with published results.
func published() []known {
	return []known{
		gpt2(),
		{
			name: "distilgpt2", layers: 6, heads: 12, embedding: 768, vocab: 50257, parameters: 81_912_576,
			tokens: gpt2Tokens(),
			files: []knownFile{
				{"config.json", 762, "4ec5947c1d59fee6212cdf3b0ec1a53eac02092554c5ff0a733488cbd2c64f3a"},
				{"model.safetensors", 352_824_413, "e1ff18884359fe8beb795a5f414feb85a6ce3d929ad019c0d958c039d2b94a1b"},
			},
		},
		{
			name: "gpt2-medium", layers: 24, heads: 16, embedding: 1024, vocab: 50257, parameters: 354_823_168,
			tokens: gpt2Tokens(),
		},
		{
			name: "gpt2-large", layers: 36, heads: 20, embedding: 1280, vocab: 50257, parameters: 774_030_080,
			tokens: gpt2Tokens(),
		},
		{
			name: "gpt2-xl", layers: 48, heads: 25, embedding: 1600, vocab: 50257, parameters: 1_557_611_200,
			tokens: gpt2Tokens(),
		},
		{name: "SmolLM2-135M", layers: 30, heads: 9, embedding: 576, vocab: 49152, parameters: 134_515_008},
		{name: "stories15M", layers: 6, heads: 6, embedding: 288, vocab: 32000, parameters: 15_191_712},
	}
}

// recognise returns the known model of that shape, or nil if there is none.
func recognise(list []known, c gpt.Config) *known {
	for _, k := range list {
		if k.layers == c.NLayer && k.heads == c.NHead && k.embedding == c.NEmbd && k.vocab == c.VocabSize {
			return &k
		}
	}
	return nil
}
