// Package certificate writes down what the numbers of a training run were, so that anyone can run it again and see
// whether they are equal to the last bit. Start with Chain, which a trainer adds every step to, and Decode.
//
// A certificate has at most 10 kB, however long the run is, unless the configuration alone takes more than 2.5 kB. It
// holds the configuration, the SHA-256 of text and tokenizer, the builds that computed the steps, and a chain of
// links. The digest of step k is
//
//	hₖ = SHA-256(hₖ₋₁ ‖ k ‖ loss ‖ norm of the gradient)
//
// of the 32 bytes before, 0 at the beginning, and of three numbers of 8 bytes, the lowest first, where loss and norm
// are the bits of a float64. It covers every step and depends on nothing else, so that one digest compares two runs. A
// link holds the digest and the numbers of its step. There is a link at the steps 1, 2, 4, 8 and 16, at every n-th
// step, where n is the smallest power of two that leaves at most 12, and at up to 5 checkpoints, with the hashes of
// weights, moments, states and the generator that draws batches. Each link ends with a sum over it and all before it;
// the last one is the beginning of the certificate's SHA-256.
//
// Sums show damage and careless edits. Whoever computes them again can write any certificate: it is not signed, says
// nothing about who made it, and claims nothing that it does not contain. A replay finds every false number.
package certificate

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// File is the name of a certificate in a checkpoint and beside the checkpoints of a run.
const File = "certificate.json"

// maxSize is the size in bytes of the largest certificate that is read.
const maxSize = 1 << 20

const (
	format = "pedestrian certificate 1"
	about  = "Replay it: go run ./examples/verify -replay certificate.json. It is not signed, and claims nothing " +
		"that it does not contain."
	notCovered = "not covered"
)

// Kinds of runs that a program can begin again from their configurations alone.
const (
	Decoder = "decoder"         // gpt.NewTrainer
	Pairs   = "encoder-decoder" // seq2seq.NewTrainer
)

// Run determines the numbers of a run, together with the program.
type Run struct {
	Kind      string          `json:"kind"`   // Decoder, Pairs, or "" for a Task of its own
	Config    json.RawMessage `json:"config"` // resolved
	Text      string          `json:"text"`   // text.Corpus.SHA256
	Tokenizer Tokenizer       `json:"tokenizer"`
	// Code names the parts and hooks that are not the library's, each with the SHA-256 of its source, or "not covered".
	Code []Code `json:"code"`
	// Base is the hash of the weights with which a tuning began, empty if the seed determines them.
	Base string `json:"base"`
}

// Tokenizer identifies a tokenizer.
type Tokenizer struct {
	Kind   string `json:"kind"` // by which text.KindOf finds it
	Size   int    `json:"size"`
	SHA256 string `json:"sha256"` // of its JSON
}

// Code is a part of a run that its user wrote.
type Code struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // of its source, or "not covered"
}

// NewCode returns the Code of a name and its source, which may be empty: then it is not covered.
func NewCode(name, source string) Code {
	if source == "" {
		return Code{name, notCovered}
	}
	return Code{name, hashed([]byte(source))}
}

// Covered reports whether the certificate contains a hash of the source.
func (c Code) Covered() bool { return c.SHA256 != notCovered }

// Link is the chain at a step.
type Link struct {
	Step   int     `json:"step"`
	Loss   float64 `json:"loss"`   // in the shortest decimals that have the bits
	Norm   float64 `json:"norm"`   // of the gradient, before clipping
	Digest string  `json:"digest"` // of all steps so far, in hexadecimal
	State          // at a checkpoint
	Sum    string  `json:"sum"` // the first 16 digits of the SHA-256 of this link and all before it
}

// State holds the SHA-256 of the files of a checkpoint, whose numbers are stored with their lowest byte first on every
// processor.
type State struct {
	Weights string `json:"weights,omitempty"` // of model.safetensors
	Moments string `json:"moments,omitempty"` // of optimizer.safetensors
	States  string `json:"states,omitempty"`  // of states.safetensors, if there is one
	Draws   string `json:"draws,omitempty"`   // of the generator that draws batches, unless the step determines them
}

// Certificate is the content of a certificate.json.
type Certificate struct {
	Run
	Builds []Build
	// LeftOut is the number of further builds between the first and the second of Builds.
	LeftOut int
	From    int // the number of steps done before the first one that the chain covers
	Links   []Link
	SHA256  string // of all other fields
}

// Last returns the last link, or the zero Link if the chain is empty.
func (c *Certificate) Last() (l Link) {
	if c != nil && len(c.Links) > 0 {
		l = c.Links[len(c.Links)-1]
	}
	return l
}

// At returns the link of a step.
func (c *Certificate) At(step int) (l Link, ok bool) {
	if c == nil {
		return l, false
	}
	for _, l := range c.Links {
		if l.Step == step {
			return l, true
		}
	}
	return l, false
}

// Open reads the certificate at path.
func Open(path string) (*Certificate, error) {
	data, err := file.Read(path, maxSize)
	if err != nil {
		return nil, err
	}
	c, err := Decode(data)
	return c, errors.Wrapf(err, "certificate %s", field.Clip(path))
}
