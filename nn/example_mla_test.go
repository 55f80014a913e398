package nn_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// positions returns at with n tokens at the positions 0, 1, 2, …
func positions(at nn.Site, n int) nn.Site {
	at.Positions = at.Ints("positions", n, at.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = i
	}
	return at
}

// The same point in the plane at positions 0, 1 and 2: it is rotated by one radian per token and keeps its length.
func ExampleRoPE() {
	at := positions(site(), 3)
	rope := nn.NewRoPE(at.At("rope"), 2, 10000)
	show(rope.Forward(at.Value("x", numbers(1, 0, 1, 0, 1, 0), 3, 2)))
	// Output:
	//   1.00  0.00
	//   0.54  0.84
	//  -0.42  0.91
}

// Attention with rotary positions: all queries and keys are the same, so that only the distance counts, and near tokens
// weigh more. Rotary positions have no parameters.
func ExampleRoPE_Rotate() {
	at := positions(site(), 3)
	at.Rotary = nn.NewRoPE(at.At("rope"), at.QK, 10000)
	l := nn.NewSelfAttention(at.At("attn"))
	set(at.Graph(), map[string][]float64{
		"attn.c_attn.weight": { // the columns of q, of k, of v
			2, 0, 2, 0, 0, 0,
			0, 0, 0, 0, 1, 0},
		"attn.c_proj.weight": {1, 0, 0, 1},
	})
	show(l.Forward(at.Value("x", numbers(1, 600, 1, 60, 1, 6), 3, 2)))
	parameters(at)
	// Output:
	// 600.00  0.00
	// 175.63  0.00
	//  25.78  0.00
	// attn.c_attn.weight [2 6]
	// attn.c_proj.weight [2 2]
}

// latentSite returns a place in a new model with one sequence of 3 tokens, 8 features and two heads.
func latentSite() nn.Site {
	at := site()
	at.Embd, at.Heads, at.QK, at.V = 8, 2, 3, 4
	at.Caches = nn.Caches{}
	return positions(at, 3)
}

// parameters prints the names and shapes of the declared parameters.
func parameters(at nn.Site) {
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
}

// A latent has 2 numbers per token, from which the keys and values of both heads are computed.
func ExampleMLA() {
	at := latentSite()
	nn.NewMLA(at.At("attn"), 2)
	parameters(at)
	// Output:
	// attn.c_q.weight [8 6]
	// attn.c_kv_down.weight [8 2]
	// attn.c_k_up.weight [2 6]
	// attn.c_v_up.weight [2 8]
	// attn.c_proj.weight [8 8]
}

// Decoding stores only the latent, 2 numbers per token; keys and values would be 14.
func ExampleMLA_Step() {
	at := latentSite()
	l := nn.NewMLA(at.At("attn"), 2)
	x := at.Value("x", graph.Normal(1), 3, 8)
	all := l.Forward(x)
	token, pos := at.Value("token", graph.Const(0), 1, 8), at.Ints("pos", 1, at.Context, -1)
	one := l.Step(token, pos)
	var programs [2]*graph.Program
	for i, y := range []graph.Expr{all, one} {
		p, err := graph.Compile(y)
		if err != nil {
			log.Fatal(err)
		}
		programs[i] = p
	}
	if err := programs[0].Run(); err != nil {
		log.Fatal(err)
	}
	want := programs[0].Value().Clone()
	for t := range 3 {
		pos.Ints()[0] = t
		fill(token, x.Tensor().Row(t).Floats()...)
		if err := programs[1].Run(); err != nil {
			log.Fatal(err)
		}
		var off float64
		for i, v := range programs[1].Value().F64 {
			off = max(off, v-want.Row(t).F64[i], want.Row(t).F64[i]-v)
		}
		fmt.Println("token", t, "the same:", off < 1e-12)
	}
	fmt.Println(at.Caches.Bytes()/8, "numbers for 3 tokens")
	// Output:
	// token 0 the same: true
	// token 1 the same: true
	// token 2 the same: true
	// 6 numbers for 3 tokens
}

// Queries and keys have 4 additional rotated features; both heads share the rotated part of the key.
func ExampleMLARoPE() {
	at := latentSite()
	nn.NewMLARoPE(at.At("attn"), 2, 5, 4, 10000)
	parameters(at)
	// Output:
	// attn.c_q_down.weight [8 5]
	// attn.c_q_up.weight [5 6]
	// attn.c_q_rope.weight [5 8]
	// attn.c_kv_down.weight [8 2]
	// attn.c_k_up.weight [2 6]
	// attn.c_k_rope.weight [8 4]
	// attn.c_v_up.weight [2 8]
	// attn.c_proj.weight [8 8]
}

// The rotated part of the key is computed from the latent: c_k_rope has 2 inputs, not 8.
func ExampleMLALatentRoPE() {
	at := latentSite()
	nn.NewMLALatentRoPE(at.At("attn"), 2, 5, 4, 10000)
	parameters(at)
	// Output:
	// attn.c_q_down.weight [8 5]
	// attn.c_q_up.weight [5 6]
	// attn.c_q_rope.weight [5 8]
	// attn.c_kv_down.weight [8 2]
	// attn.c_k_up.weight [2 6]
	// attn.c_k_rope.weight [2 4]
	// attn.c_v_up.weight [2 8]
	// attn.c_proj.weight [8 8]
}
