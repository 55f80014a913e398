package verify

// EncoderDecoder describes a model of pairs apart from its parameters, whose names are
// those of GPT, on either side: encoder.wte.weight, encoder.wpe.weight,
// encoder.h.0.ln_1.weight and so on, encoder.ln_f.weight, decoder.… , with
// decoder.h.i.ln_cross and decoder.h.i.cross.c_q, .c_kv, .c_proj between attention and MLP, and
// decoder.lm_head. Conti chapter 1, CS 224n section 3.7.
type EncoderDecoder struct {
	Batch, Source, Target int // B pairs of m and n tokens
	Layers, Heads, QK     int // blocks of each side, H, dρ

	Lengths    []int // of the sources: the tokens behind them are padding
	Eps        float64
	Activation Activation
	PostNorm   bool // LayerNorm after each sum, none at the end
	Norm       Norm
	Position   Position // of either side: learned, sinusoidal or none
	Reduction  Reduction
}

// EncoderDecoderActivations are what the backward pass needs: the input of every part of
// every block, the rest is computed again.
type EncoderDecoderActivations[T Number] struct {
	Encoder, Decoder stack[T]
	Z                Matrix[T] // the encoder's output   (B·m, d)
	Logits           Matrix[T] //                        (B·n, V)
	Loss             Matrix[T] //                        (1, 1)
}

// stack is one side of the model.
type stack[T Number] struct {
	inputs []Matrix[T] // of the parts, one after another
	last   Matrix[T]   // before the final LayerNorm
	out    Matrix[T]
}

// EncoderDecoderForward reads the sources, then scores what the decoder says to its input
// against the targets.
func EncoderDecoderForward[T Number](c EncoderDecoder, p Parameters[T], source, input, targets []int) (a EncoderDecoderActivations[T], err error) {
	r := newPass(c, p)
	a.Encoder = r.stack("encoder", r.embed("encoder", source, c.Source), r.encoder())   // (B·m, d)
	a.Z = a.Encoder.out                                                                 // (B·m, d)
	a.Decoder = r.stack("decoder", r.embed("decoder", input, c.Target), r.decoder(a.Z)) // (B·n, d)
	a.Logits = r.linear("decoder.lm_head", a.Decoder.out)                               // (B·n, V)
	a.Loss = CrossEntropyForward(a.Logits, targets, c.Reduction)                        // (1, 1)
	return a, a.Loss.Err
}

// EncoderDecoderBackward returns the gradient of every parameter. Each block of the decoder
// looks at Z, so Δ at Z is the sum of what they send back.
func EncoderDecoderBackward[T Number](c EncoderDecoder, p Parameters[T], source, input, targets []int, a EncoderDecoderActivations[T]) (Parameters[T], error) {
	r := newPass(c, p)
	r.dz = Zeros[T](a.Z.Rows, a.Z.Cols)
	d := CrossEntropyBackward(a.Logits, targets, c.Reduction)               // Δ = y_pred − y_gt
	d = r.linearBackward("decoder.lm_head", a.Decoder.out, d)               //
	d = r.stackBackward("decoder", a.Decoder, r.decoder(a.Z), d)            // and Σ ΔZ
	r.embedBackward("decoder", input, c.Target, d)                          //
	d = r.stackBackward("encoder", a.Encoder, r.encoder(), r.at("z", r.dz)) //
	r.embedBackward("encoder", source, c.Source, d)                         //
	return r.g, r.err()
}
