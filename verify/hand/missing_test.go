package hand_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// A layer without one of its parts is an error that names the part, in Forward and in Backward.
func TestMissingParts(t *testing.T) {
	type (
		block   = hand.Block[float64]
		post    = hand.PostNormBlock[float64]
		decoder = hand.DecoderBlock[float64]
		after   = hand.PostNormDecoderBlock[float64]
		mlp     = hand.MLP[float64]
		mla     = hand.MLA[float64]
		rope    = hand.MLARoPE[float64]
		cross   = hand.CrossAttention[float64]
		apply   = hand.Apply[float64]
		links   = hand.Chain[float64]
	)
	x, f := fixture.Random("x", 4, 6), layer(hand.ReLU[float64]{})
	heads := several(2, 2)
	to := func(width int) layer { return hand.Linear[float64]{Weight: fixture.Random("weight", 6, width)} }
	unmasked := hand.Longformer[float64]{
		Local: links{
			apply{From: "x", To: "q", Layer: f}, apply{From: "x", To: "k", Layer: f},
			apply{From: "x", To: "v", Layer: f},
		},
		Heads: hand.Windows[float64]{Batch: 2, Heads: 2}, After: links{apply{From: "y", To: "y", Layer: f}},
	}
	unmasked.Global = unmasked.Local
	alone := func(head hand.Head[float64]) layer {
		heads := heads
		heads.Head = func(int, int) hand.Head[float64] { return head }
		return hand.Unprojected[float64]{Heads: heads}
	}
	all := hand.Dropout[float64]{}
	const none = ": hand: no layer, got nil"
	for _, c := range []struct {
		want string
		layer
	}{
		{"ln_1" + none, block{nil, f, f, f, nil}},
		{"attn" + none, block{f, nil, f, f, nil}},
		{"ln_2" + none, block{f, f, nil, f, nil}},
		{"mlp" + none, block{f, f, f, nil, nil}},
		{"ln_1_post" + none, hand.SandwichBlock[float64]{f, f, nil, f, f, f, nil}},
		{"ln_2_post" + none, hand.SandwichBlock[float64]{f, f, f, f, f, nil, nil}},
		{"ln_1" + none, hand.PostPartBlock[float64]{nil, f, f, f, nil}},
		{"mlp" + none, hand.ParallelBlock[float64]{f, f, nil, nil}},
		{"ln_2" + none, hand.ParallelTwoBlock[float64]{f, f, nil, f, nil}},
		{"ln_1" + none, post{nil, f, f, f, nil}},
		{"attn" + none, post{f, nil, f, f, nil}},
		{"ln_2" + none, post{f, f, nil, f, nil}},
		{"mlp" + none, post{f, f, f, nil, nil}},
		{"ln_1" + none, decoder{nil, f, f, f, f, f, nil}},
		{"attn" + none, decoder{f, nil, f, f, f, f, nil}},
		{"ln_cross" + none, decoder{f, f, nil, f, f, f, nil}},
		{"cross" + none, decoder{f, f, f, nil, f, f, nil}},
		{"ln_2" + none, decoder{f, f, f, f, nil, f, nil}},
		{"mlp" + none, decoder{f, f, f, f, f, nil, nil}},
		{"ln_1" + none, after{nil, f, f, f, f, f, nil}},
		{"attn" + none, after{f, nil, f, f, f, f, nil}},
		{"ln_cross" + none, after{f, f, nil, f, f, f, nil}},
		{"cross" + none, after{f, f, f, nil, f, f, nil}},
		{"ln_2" + none, after{f, f, f, f, nil, f, nil}},
		{"mlp" + none, after{f, f, f, f, f, nil, nil}},
		{"c_fc" + none, mlp{nil, f, f, all}},
		{"act" + none, mlp{Fc: f, Proj: f}},
		{"c_proj" + none, mlp{Fc: f, Act: f}},
		{"c_q" + none, mla{nil, f, f, f, heads, f, all}},
		{"c_kv_down" + none, mla{f, nil, f, f, heads, f, all}},
		{"c_k_up" + none, mla{f, f, nil, f, heads, f, all}},
		{"c_v_up" + none, mla{f, f, f, nil, heads, f, all}},
		{"c_proj" + none, mla{f, f, f, f, heads, nil, all}},
		{"c_q_down" + none, rope{nil, f, f, f, f, f, f, false, f, heads, f, all}},
		{"c_q_up" + none, rope{f, nil, f, f, f, f, f, false, f, heads, f, all}},
		{"c_q_rope" + none, rope{f, f, nil, f, f, f, f, false, f, heads, f, all}},
		{"c_kv_down" + none, rope{f, f, f, nil, f, f, f, false, f, heads, f, all}},
		{"c_k_up" + none, rope{f, f, f, f, nil, f, f, false, f, heads, f, all}},
		{"c_k_rope" + none, rope{f, f, f, f, f, nil, f, false, f, heads, f, all}},
		{"c_v_up" + none, rope{f, f, f, f, f, f, nil, false, f, heads, f, all}},
		{"rotary" + none, rope{f, f, f, f, f, f, f, false, nil, heads, f, all}},
		{"c_proj" + none, rope{f, f, f, f, f, to(3), f, false, f, heads, nil, all}},
		{"c_attn" + none, links{apply{Name: "c_attn", From: "x", To: "y"}}},
		{"hand: no value y, got nil", links{apply{From: "x", To: "z", Layer: f}}},
		{"hand: no value z, got nil", links{apply{From: "z", To: "y", Layer: f}}},
		{"c_q" + none, cross{KV: f, QK: 4, Memory: x, Heads: heads, Proj: f}},
		{"c_kv" + none, cross{Query: to(4), QK: 4, Memory: x, Heads: heads, Proj: f}},
		{"c_proj" + none, cross{Query: to(4), KV: f, QK: 4, Memory: x, Heads: heads}},
		{"hand: no Masks, got nil", unmasked},
		{"c_input" + none, hand.Elman[float64]{Weight: x.Tokens(0, 1), Batch: 2}},
		{"features" + none, alone(hand.LinearAttention[float64]{})},
		{"features" + none, alone(hand.LinearScan[float64]{})},
		{"hand: no Head, got nil", alone(nil)},
		{"hand: no Head, got nil", hand.Unprojected[float64]{Heads: hand.Heads[float64]{Batch: 2, Count: 2}}},
	} {
		y := c.Forward(x)
		dx, g := c.Backward(x, x)
		err := errors.Join(g.Err(), dx.Err)
		if y.Err == nil || y.Err.Error() != c.want || err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%T: got %v and %v, want %s", c.layer, y.Err, err, c.want)
		}
	}
}

// A model without one of its parts is an error that names the place.
func TestMissingPartsOfModels(t *testing.T) {
	stack := hand.Stack[float64]{
		Embeddings: hand.Embeddings[float64]{hand.Tokens[float64]{Weight: fixture.Random("wte", 7, 7)}},
	}
	holed := stack
	holed.Blocks = []layer{hand.ReLU[float64]{}, nil}
	unplaced, empty := stack, hand.Stack[float64]{}
	unplaced.Embeddings = append(unplaced.Embeddings[:1:1], hand.Embedded[float64]{Name: "wpe"})
	undone := hand.Stack[float64]{Embeddings: hand.Embeddings[float64]{nil}}
	is := func(s hand.Stack[float64]) func(matrix) hand.Stack[float64] {
		return func(matrix) hand.Stack[float64] { return s }
	}
	head, text := layer(hand.ReLU[float64]{}), hand.Text{Source: []int{0, 1}, Tokens: []int{1, 2}, Targets: []int{2, 3}}
	score := func(targets []int) layer { return hand.CrossEntropy[float64]{Targets: targets} }
	unscored := func([]int) layer { return nil }
	for _, c := range []struct {
		want string
		m    hand.Model[float64]
	}{
		{"lm_head: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Loss: score}},
		{"loss: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Head: head}},
		{"loss: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Head: head, Loss: unscored}},
		{"wte: hand: no Decoder, got nil", hand.Model[float64]{Head: head, Loss: score}},
		{"decoder.wte: hand: no Decoder, got nil", hand.Model[float64]{Encoder: &stack, Head: head, Loss: score}},
		{"wpe: hand: no layer, got nil", hand.Model[float64]{Decoder: is(unplaced), Head: head, Loss: score}},
		{"hand: no Embedder, got nil", hand.Model[float64]{Decoder: is(empty), Head: head, Loss: score}},
		{"hand: no Embedder, got nil", hand.Model[float64]{Decoder: is(undone), Head: head, Loss: score}},
		{"h.1: hand: no layer, got nil", hand.Model[float64]{Decoder: is(holed), Head: head, Loss: score}},
		{"encoder.h.1: hand: no layer, got nil", hand.Model[float64]{Encoder: &holed, Decoder: is(stack), Head: head}},
	} {
		y := c.m.Forward(text)
		_, err := c.m.Backward(text)
		if y.Err == nil || y.Err.Error() != c.want || err == nil {
			t.Errorf("got %v and %v, want %s", y.Err, err, c.want)
		}
	}
}

// torn is an invalid literal: it has fewer entries than its size requires.
var torn = matrix{Rows: 4, Cols: 6, Data: make([]float64, 5)}

// Invalid literals are errors of everything that reads them, on either side.
func TestTorn(t *testing.T) {
	x := fixture.Random("x", 4, 6)
	intact := hand.Embedding[float64]{Weight: x}
	flash := hand.Flash[float64]{Queries: 2, Keys: 2}
	places := hand.LearnedPositions[float64]{Weight: x, Positions: []int{0, 1, 2, 3}}
	left, _ := places.Backward(x, torn)
	for i, m := range []matrix{
		torn.Exp(), torn.RowMax(), torn.Transpose(), torn.Columns(0, 2), torn.Tokens(0, 2),
		torn.SumTokens(), torn.Sum(), torn.Scale(2),
		hand.Lift[float64](torn), hand.JoinTokens(torn), hand.JoinTokens(x, torn), hand.Join(x, torn),
		torn.MatMul(x.Transpose()), x.Transpose().MatMul(torn), torn.Add(x), x.Add(torn),
		hand.Embedding[float64]{Weight: torn}.Forward([]int{0}), hand.Embedding[float64]{Weight: torn}.Forward(nil),
		intact.Backward([]int{0, 1, 2, 3}, torn)[0].Value, places.Forward(torn), left,
		hand.CrossEntropy[float64]{Targets: make([]int, 4)}.Forward(torn),
		flash.Forward(torn, x, x), flash.Forward(x, torn, x), flash.Forward(x, x, torn),
		hand.Flash[float64]{Queries: 2, Keys: 2, Mask: torn}.Forward(x, x, x),
		hand.RoPE[float64]{Positions: []int{0, 1, 2, 3}, Size: 2, Theta: 10}.Forward(torn),
		several(2, 2).Forward(torn, x, x),
	} {
		if m.Err == nil || m.Err.Error() != "hand: shapes do not fit: matrix (4, 6) from 5 values" || len(m.Data) != 0 {
			t.Errorf("%d: got %v", i, m)
		}
	}
	square := x.Columns(0, 4)
	at := hand.Site[float64]{Parameters: hand.Parameters[float64]{
		"c_attn.weight": x.Transpose(), "c_proj.weight": x.Tokens(0, 2), "e.weight": square, "f.weight": square,
	}}
	for i, want := range []string{"e.weight", "f.weight"} { // no memory is allocated for the sizes
		at.Parameters = maps.Clone(at.Parameters)
		at.Parameters[want] = matrix{Rows: -1, Cols: 4}
		_, g := at.Linformer(1, 1, 1).Backward(x, x)
		err := g[len(g)-5+i].Value.Err
		if err == nil || !strings.Contains(err.Error(), "matrix (-1, 4) from 0 values") {
			t.Errorf("%s: got %v", want, err)
		}
		at.Parameters[want] = square
	}
	bad := errors.New("bad")
	if y := (matrix{Rows: 2, Cols: 1, Data: []float64{1, 2}, Err: bad}).Exp(); y.Err != bad || y.Rows != 0 ||
		len(y.Data) != 0 {
		t.Errorf("got %v, want the error alone", y)
	}
	if y := (matrix{Rows: 2, Cols: 1, Err: bad}).Exp(); y.Err != bad {
		t.Errorf("got %v, want the first error", y)
	}
	none := hand.Zeros[float64](0, 1)
	flash.Mask = matrix{Cols: 4, Data: []float64{1}}
	if y := flash.Forward(x.Tokens(0, 0), x, x); y.Err == nil {
		t.Error("a mask without queries is no error")
	}
	scan := hand.LinearScan[float64]{Features: hand.ReLU[float64]{}}
	if y := scan.Forward(none, none, matrix{Cols: 1, Data: []float64{1}}); y.Err == nil {
		t.Error("values without places are no error")
	}
	g := hand.Gradients[float64]{{Name: "a", Value: torn}, {Name: "b", Value: torn}, {Name: "c", Value: x}}
	if err := g.Err(); err == nil || err.Error() != "b: hand: shapes do not fit: matrix (4, 6) from 5 values" {
		t.Errorf("got %v", err)
	}
}
