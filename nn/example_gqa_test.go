package nn_test

import "github.com/pedestrian-ml/pedestrian/nn"

// Four heads of queries share the keys and values of two groups: heads 0 and 1 those of the first, 2 and 3 those of the
// second. The columns are 4·3 of queries, 2·3 of keys and 2·4 of values.
func ExampleGroupedAttention() {
	at := latentSite()
	at.Heads = 4
	nn.NewGroupedAttention(at.At("attn"), 2, true)
	parameters(at)
	// Output:
	// attn.c_attn.weight [8 26]
	// attn.c_attn.bias [26]
	// attn.c_proj.weight [16 8]
}
