package nn_test

import (
	"fmt"
	"log"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
)

// positions returns the site at which n tokens stand at 0, 1, 2, …
func positions(at nn.Site, n int) nn.Site {
	at.Positions = at.Ints("positions", n, at.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = i
	}
	return at
}

// The same point of the plane at positions 0, 1 and 2: it is rotated by a radian a token, and its length stays.
func ExampleRoPE() {
	at := positions(site(), 3)
	rope := nn.NewRoPE(at.At("rope"), 2, 10000)
	show(rope.Forward(at.Value("x", numbers(1, 0, 1, 0, 1, 0), 3, 2)))
	// Output:
	//   1.00  0.00
	//   0.54  0.84
	//  -0.42  0.91
}

// Attention with rotary positions: queries and keys are the same everywhere, so that nothing but the distance counts,
// and what is near weighs more. Nothing is learned for it.
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

// latentSite returns a place in a new model of one sequence of 3 tokens, 8 features wide, with two heads.
func latentSite() nn.Site {
	at := site()
	at.Embd, at.Heads, at.QK, at.V = 8, 2, 3, 4
	at.Caches = nn.Caches{}
	return positions(at, 3)
}

// parameters prints the names and shapes of what a layer has declared.
func parameters(at nn.Site) {
	for _, p := range at.Graph().Params() {
		fmt.Println(p.Name(), p.Tensor().Shape)
	}
}

// A latent of 2 numbers a token, from which keys and values of both heads are made.
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

// Decoding keeps the latent alone, 2 numbers a token; keys and values would be 14.
func ExampleMLA_Step() {
	at := latentSite()
	l := nn.NewMLA(at.At("attn"), 2)
	x := at.Value("x", graph.Normal(1), 3, 8)
	whole := l.Forward(x)
	token, pos := at.Value("token", graph.Const(0), 1, 8), at.Ints("pos", 1, at.Context, -1)
	one := l.Step(token, pos)
	var programs [2]*graph.Program
	for i, y := range []graph.Expr{whole, one} {
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

// Queries and keys have 4 rotated features besides; the rotated part of the key is one for both heads.
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

// Here the rotated part of the key is made of the latent: c_k_rope takes 2 features, not 8.
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
