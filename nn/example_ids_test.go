package nn_test

import "github.com/pedestrian-ml/pedestrian/nn"

// With the norm after each sublayer the result is normalised, even if a block attends to a source with large values.
func ExamplePostNormDecoderBlock() {
	for _, loud := range []float64{0, 1, 1e6} {
		at := site()
		source := at.Value("z", numbers(loud, 0, 0, -loud), 2, 2) // two tokens
		memory := nn.NewMemory(at.Sub("memory"), source, 1, 3, 2, nil)
		b := nn.NewPostNormDecoderBlock(at.At("h.0"), func(at nn.Site) nn.Layer { return nn.NewSelfAttention(at) }, memory)
		set(at.Graph(), map[string][]float64{
			"h.0.attn.c_proj.weight": {0, 0, 0, 0}, "h.0.mlp.c_proj.weight": make([]float64, 8), // nothing but cross-attention writes
			"h.0.cross.c_kv.weight": { // the columns of k, of v
				0, 0, 1, 0,
				0, 0, 0, 1},
			"h.0.cross.c_proj.weight": {1, 0, 0, 1}, // the mean of the source
		})
		show(b.Forward(at.Value("x", numbers(1, 5, 2, 6, 7, 3), 3, 2)).Reshape(1, 6))
	}
	// Output:
	//  -1.00  1.00 -1.00  1.00  1.00 -1.00
	//  -1.00  1.00 -1.00  1.00  1.00 -1.00
	//   1.00 -1.00  1.00 -1.00  1.00 -1.00
}
