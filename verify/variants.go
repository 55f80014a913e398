package verify

import "math"

// Position says what tells a token where it stands.
type Position int

// The positions. Biases of the scores are part of the mask.
const (
	LearnedPositions    Position = iota // a row of wpe.weight is added
	SinusoidalPositions                 // the embeddings times √d, and waves are added
	RotaryPositions                     // queries and keys turn
	NoPositions
)

// Norm is the kind of all layer normalisations.
type Norm int

// The norms.
const (
	NormRoot  Norm = iota // √(σ² + ε)
	NormSigma             // σ + ε
	NormPlain             // no gain and no shift
)

// Mixing is what attention does with queries and keys, and how it comes by them.
type Mixing int

// The mixings.
const (
	SoftmaxMixing         Mixing = iota
	LinearMixing                 // features elu + 1 in place of the softmax
	TaylorMixing                 // features [1, x̂]
	LongformerMixing             // windows, and global tokens with projections of their own
	LatentMixing                 // keys and values of a latent
	LatentRotaryMixing           // and a part that turns, whose key is made of the token
	LatentKeyRotaryMixing        // and a part that turns, whose key is made of the latent
)

// latent says whether queries, keys and values come by way of latents.
func (m Mixing) latent() bool { return m >= LatentMixing }

// place is a₁: the embedded tokens with what positions add.
func (r *run[T]) place(tok Matrix[T]) Matrix[T] {
	switch r.Position {
	case LearnedPositions:
		return tok.Add(r.embedding("wpe", Positions(r.Batch, r.Context)))
	case SinusoidalPositions:
		waves := Lift[T](Sinusoids(r.Context, tok.Cols, 10000))
		return PositionsForward(tok, waves, Positions(r.Batch, r.Context), math.Sqrt(float64(tok.Cols)))
	}
	return tok
}

func (r *run[T]) placeBackward(d1 Matrix[T]) (dtok Matrix[T]) {
	switch r.Position {
	case LearnedPositions:
		r.embeddingBackward("wpe", Positions(r.Batch, r.Context), d1) // ohe(1:n)ᵗ Δ₁
	case SinusoidalPositions:
		return d1.Scale(math.Sqrt(float64(d1.Cols)))
	}
	return d1
}

// rotary turns the first groups of size features.
func (r *run[T]) rotary(groups, size int) Rotary {
	return Rotary{Positions: Positions(r.Batch, r.Context), Groups: groups, Size: size, Theta: r.Theta}
}
