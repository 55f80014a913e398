package hand_test

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

type (
	matrix = hand.Matrix[float64]
	layer  = hand.Layer[float64]
)

// torn is a literal that is no matrix: it has fewer entries than its size wants.
var torn = matrix{Rows: 4, Cols: 6, Data: make([]float64, 5)}

// Sizes that no matrix has, masks, waves and rotations that there are not, are errors with both numbers.
func TestSizes(t *testing.T) {
	x := fixture.Random("x", 4, 6)
	rope := func(theta float64) matrix {
		return hand.RoPE[float64]{Positions: []int{0, 1, 2, 3}, Size: 2, Theta: theta}.Forward(x)
	}
	none := make([][]int, 3)
	flash := func(mask matrix) hand.Flash[float64] { return hand.Flash[float64]{Mask: mask, Queries: 2, Keys: 2} }
	scan := hand.LinearScan[float64]{Features: hand.EluPlusOne[float64]{}}
	short, _, _ := scan.Backward(x, x, x, x.Tokens(0, 3))
	absorbed := func(heads, qk, v, o int) layer {
		return hand.MLAAbsorbed[float64]{
			Wq: hand.Zeros[float64](4, qk), Down: hand.Zeros[float64](6, 6), UpK: hand.Zeros[float64](6, qk),
			UpV: hand.Zeros[float64](6, v), Wo: hand.Zeros[float64](o, 6), Batch: 1, Heads: heads,
		}
	}
	back, _ := absorbed(0, 6, 6, 6).Backward(x, x)
	rotary := func(count, q, qR, k int) matrix {
		to := func(width int) layer { return hand.Linear[float64]{Weight: hand.Zeros[float64](6, width)} }
		return hand.MLARoPE[float64]{
			to(6), to(q), to(qR), to(6), to(k), to(3), to(6), false, hand.ReLU[float64]{}, several(1, count), to(6), hand.Dropout[float64]{},
		}.Forward(x)
	}
	gathered, _ := hand.GatherTokens[float64]{}.Backward(x, x)
	half := hand.NewPartial(x, matrix{})
	row := x.Tokens(0, 1)
	keys, _ := hand.Cache[float64]{K: row}.Attend(row, row, row)
	values, _ := hand.Cache[float64]{V: row}.Attend(row, row, row)
	for _, c := range []struct {
		want string
		got  matrix
	}{
		{"zeros (1073741825, 0)", hand.Zeros[float64](1<<30+1, 0)},
		{"zeros (0, 1073741825)", hand.Zeros[float64](0, 1<<30+1)},
		{"zeros (2, 536870913)", hand.Zeros[float64](2, 1<<29+1)},
		{"zeros (-1, 1)", hand.Zeros[float64](-1, 1)},
		{"zeros (1, -1)", hand.Zeros[float64](1, -1)},
		{"matrix (4294967296, 4294967296) from 0 values", matrix{Rows: 1 << 32, Cols: 1 << 32}.Exp()},
		{"", hand.Zeros[float64](1<<30, 0)},
		{"", hand.Zeros[float64](0, 1<<30)},
		{"a window of 0 tokens", hand.WindowMask(3, 0)},
		{"", hand.WindowMask(3, 1)},
		{"a window of 0 tokens", hand.BigBirdMask(3, 0, nil, none)},
		{"random keys of 3 queries, want 1 or more and 4", hand.BigBirdMask(4, 1, nil, none)},
		{"token -1, want 0 … 2", hand.BigBirdMask(3, 1, []int{-1}, none)},
		{"token 3, want 0 … 2", hand.BigBirdMask(3, 1, nil, [][]int{{0}, {3}, nil})},
		{"", hand.BigBirdMask(3, 1, []int{0, 2}, none)},
		{"a dilation of 0", hand.DilatedMask(3, 1, 0)},
		{"a window of 0 tokens", hand.DilatedMask(3, 0, 1)},
		{"", hand.DilatedMask(3, 1, 1)},
		{"token -1, want 0 … 2", hand.GlobalMask(3, []int{-1})},
		{"token 3, want 0 … 2", hand.GlobalMask(3, []int{3})},
		{"", hand.GlobalMask(3, []int{0, 2})},
		{"-1 of 3 keys are no padding", hand.SourceMask(2, 3, -1)},
		{"4 of 3 keys are no padding", hand.SourceMask(2, 3, 4)},
		{"", hand.SourceMask(2, 3, 0)},
		{"head 0, want 1 … 2", hand.ALiBiMask(3, 0, 2)},
		{"head 3, want 1 … 2", hand.ALiBiMask(3, 3, 2)},
		{"waves in 3 columns", hand.Sinusoids(2, 3, 10)},
		{"with base 0,", hand.Sinusoids(2, 2, 0)},
		{"with base +Inf,", hand.Sinusoids(2, 2, math.Inf(1))},
		{"with base NaN,", hand.Sinusoids(2, 2, math.NaN())},
		{"", hand.Sinusoids(2, 2, math.MaxFloat64)},
		{"", hand.Sinusoids(2, 2, 0.5)},
		{"rotate with base 0,", rope(0)},
		{"rotate with base +Inf,", rope(math.Inf(1))},
		{"", rope(math.MaxFloat64)},
		{"", rope(0.5)},
		{"reduction 2, want Mean or Sum", hand.CrossEntropy[float64]{Targets: make([]int, 4), Reduction: 2}.Forward(x)},
		{"reduction -1, want Mean or Sum", hand.CrossEntropy[float64]{Targets: make([]int, 4), Reduction: -1}.Forward(x)},
		{"2 targets, none of which counts", hand.CrossEntropy[float64]{Targets: []int{hand.Ignore, hand.Ignore}}.Forward(x)},
		{"", hand.CrossEntropy[float64]{Targets: make([]int, 4)}.Forward(x)},
		{"(4, 6) for 0 sequences and 2 heads", several(0, 2).Forward(x, x, x)},
		{"(4, 6) for -1 sequences and 2 heads", several(-1, 2).Forward(x, x, x)},
		{"(4, 6) for 2 sequences and 0 heads", several(2, 0).Forward(x, x, x)},
		{"(0, 6) for 1 sequences and 2 heads", several(1, 2).Forward(x.Tokens(0, 0), x, x)},
		{"", several(4, 6).Forward(x, x, x)},
		{"queries (4, 5), keys (4, 6), values (4, 6), mask (0, 0)", flash(matrix{}).Forward(x.Columns(0, 5), x, x)},
		{"queries (4, 6), keys (4, 6), values (3, 6), mask (0, 0)", flash(matrix{}).Forward(x, x, x.Tokens(0, 3))},
		{"queries (4, 6), keys (4, 6), values (4, 6), mask (5, 4)", flash(hand.Zeros[float64](5, 4)).Forward(x, x, x)},
		{"queries (4, 6), keys (4, 6), values (4, 6), mask (4, 5)", flash(hand.Zeros[float64](4, 5)).Forward(x, x, x)},
		{"", flash(hand.Zeros[float64](4, 4)).Forward(x, x, x)},
		{"3 queries, 4 keys, 4 values, 4 Δ", scan.Forward(x.Tokens(0, 3), x, x)},
		{"4 queries, 3 keys, 4 values, 4 Δ", scan.Forward(x, x.Tokens(0, 3), x)},
		{"4 queries, 4 keys, 3 values, 3 Δ", scan.Forward(x, x, x.Tokens(0, 3))},
		{"4 queries, 4 keys, 4 values, 3 Δ", short},
		{"(4, 5), (6, 6) and (6, 6) for 2 heads", absorbed(2, 5, 6, 6).Forward(x)},
		{"(4, 6), (6, 5) and (5, 6) for 2 heads", absorbed(2, 6, 5, 5).Forward(x)},
		{"(4, 6), (6, 6) and (4, 6) for 2 heads", absorbed(2, 6, 6, 4).Forward(x)},
		{"(4, 6), (6, 6) and (6, 6) for 0 heads", absorbed(0, 6, 6, 6).Forward(x)},
		{"(4, 6), (6, 6) and (6, 6) for 0 heads", back},
		{"heads: hand: shapes do not fit: (4, 6) for 0 heads", rotary(0, 6, 6, 6)},
		{"heads: hand: shapes do not fit: (4, 6) for 4 heads", rotary(4, 6, 6, 6)},
		{"(4, 6) beside (4, 5) in 2 heads", rotary(2, 6, 5, 6)},
		{"(4, 5) beside (4, 6) in 2 heads", rotary(2, 6, 6, 5)},
		{"(4, 6) for 0 sequences and 1 heads", hand.GatherTokens[float64]{}.Forward(x)},
		{"(4, 6) for 0 sequences and 1 heads", gathered},
		{"mul (0, 0), (4, 1)", half.Merge(hand.NewPartial(x, x.Transpose())).Out},
		{"mul (0, 0), (4, 1)", hand.NewPartial(x, x.Transpose()).Merge(half).Out},
		{"join: 6 columns below 0", keys},
		{"join: 6 columns below 0", values},
	} {
		if c.want == "" && c.got.Err != nil || c.want != "" && (!errors.Is(c.got.Err, hand.ErrShape) || !strings.Contains(c.got.Err.Error(), c.want)) {
			t.Errorf("got %v, want %q", c.got.Err, c.want)
		}
	}
	for _, at := range [][2]int{{-1, 0}, {4, 0}, {0, -1}, {0, 6}, {1, -1}} {
		if got := x.At(at[0], at[1]); !math.IsNaN(got) {
			t.Errorf("at %v: got %g, want NaN", at, got)
		}
	}
	if got := hand.NewMatrix(2, 2, 1.0); got.Err == nil || got.Data != nil {
		t.Errorf("got %v", got)
	}
	if (matrix{Data: []float64{1}}).None() {
		t.Error("a number without a place is not nothing")
	}
	if got := hand.Positions(-1, 3); got != nil {
		t.Errorf("got %v", got)
	}
}

func several(batch, count int) hand.Heads[float64] {
	return hand.Heads[float64]{Batch: batch, Count: count, Head: attention}
}

// Literals that are no matrices are errors of everything that reads them, on either side.
func TestTorn(t *testing.T) {
	x := fixture.Random("x", 4, 6)
	whole := hand.Embedding[float64]{Weight: x}
	flash := hand.Flash[float64]{Queries: 2, Keys: 2}
	places := hand.LearnedPositions[float64]{Weight: x, Positions: []int{0, 1, 2, 3}}
	left, _ := places.Backward(x, torn)
	for i, m := range []matrix{
		torn.Exp(), torn.RowMax(), torn.Transpose(), torn.Columns(0, 2), torn.Tokens(0, 2), torn.SumTokens(), torn.SumFeatures(), torn.Scale(2),
		hand.Lift[float64](torn), hand.JoinTokens(torn), hand.JoinTokens(x, torn), hand.JoinColumns(x, torn),
		torn.MatMul(x.Transpose()), x.Transpose().MatMul(torn), torn.Add(x), x.Add(torn),
		hand.Embedding[float64]{Weight: torn}.Forward([]int{0}), hand.Embedding[float64]{Weight: torn}.Forward(nil),
		whole.Backward([]int{0, 1, 2, 3}, torn)[0].Value, places.Forward(torn), left,
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
	for i, want := range []string{"e.weight", "f.weight"} { // nothing is made of the sizes
		at.Parameters = maps.Clone(at.Parameters)
		at.Parameters[want] = matrix{Rows: -1, Cols: 4}
		_, g := at.Linformer(1, 1, 1).Backward(x, x)
		if err := g[len(g)-3+i].Value.Err; err == nil || !strings.Contains(err.Error(), "matrix (-1, 4) from 0 values") {
			t.Errorf("%s: got %v", want, err)
		}
		at.Parameters[want] = square
	}
	bad := errors.New("bad")
	if y := (matrix{2, 1, []float64{1, 2}, bad}).Exp(); y.Err != bad || y.Rows != 0 || len(y.Data) != 0 {
		t.Errorf("got %v, want the error alone", y)
	}
	if y := (matrix{2, 1, nil, bad}).Exp(); y.Err != bad {
		t.Errorf("got %v, want the first error", y)
	}
	none := hand.Zeros[float64](0, 1)
	if y := (hand.Flash[float64]{Queries: 1, Keys: 1, Mask: matrix{Cols: 4, Data: []float64{1}}}).Forward(x.Tokens(0, 0), x, x); y.Err == nil {
		t.Error("a mask without queries is no error")
	}
	if y := (hand.LinearScan[float64]{Features: hand.ReLU[float64]{}}).Forward(none, none, matrix{Cols: 1, Data: []float64{1}}); y.Err == nil {
		t.Error("values without places are no error")
	}
	g := hand.Gradients[float64]{{Name: "a", Value: torn}, {Name: "b", Value: torn}, {Name: "c", Value: x}}
	if err := g.Err(); err == nil || err.Error() != "b: hand: shapes do not fit: matrix (4, 6) from 5 values" {
		t.Errorf("got %v", err)
	}
}

// A layer without one of its parts is an error that names the part, of Forward and of Backward.
func TestMissingParts(t *testing.T) {
	type (
		block   = hand.Block[float64]
		post    = hand.PostNormBlock[float64]
		decoder = hand.DecoderBlock[float64]
		after   = hand.PostNormDecoderBlock[float64]
		mlp     = hand.MLP[float64]
		mla     = hand.MLA[float64]
		rope    = hand.MLARoPE[float64]
		self    = hand.SelfAttention[float64]
		cross   = hand.CrossAttention[float64]
		short   = hand.Linformer[float64]
		long    = hand.Longformer[float64]
	)
	x, f := fixture.Random("x", 4, 6), layer(hand.ReLU[float64]{})
	heads := several(2, 2)
	to := func(width int) layer { return hand.Linear[float64]{Weight: fixture.Random("weight", 6, width)} }
	some := func(int, int) hand.LongformerMask {
		return hand.LongformerMask{Local: hand.CausalMask(2), Global: hand.CausalMask(2)}
	}
	alone := func(head hand.Head[float64]) layer {
		return hand.Unprojected[float64]{Heads: hand.Heads[float64]{Batch: 2, Count: 2, Head: func(int, int) hand.Head[float64] { return head }}}
	}
	const none = ": hand: no layer, got nil"
	for _, c := range []struct {
		want string
		layer
	}{
		{"ln_1" + none, block{nil, f, f, f}}, {"attn" + none, block{f, nil, f, f}}, {"ln_2" + none, block{f, f, nil, f}}, {"mlp" + none, block{f, f, f, nil}},
		{"ln_1" + none, post{nil, f, f, f}}, {"attn" + none, post{f, nil, f, f}}, {"ln_2" + none, post{f, f, nil, f}}, {"mlp" + none, post{f, f, f, nil}},
		{"ln_1" + none, decoder{nil, f, f, f, f, f}}, {"attn" + none, decoder{f, nil, f, f, f, f}}, {"ln_cross" + none, decoder{f, f, nil, f, f, f}},
		{"cross" + none, decoder{f, f, f, nil, f, f}}, {"ln_2" + none, decoder{f, f, f, f, nil, f}}, {"mlp" + none, decoder{f, f, f, f, f, nil}},
		{"ln_1" + none, after{nil, f, f, f, f, f}}, {"attn" + none, after{f, nil, f, f, f, f}}, {"ln_cross" + none, after{f, f, nil, f, f, f}},
		{"cross" + none, after{f, f, f, nil, f, f}}, {"ln_2" + none, after{f, f, f, f, nil, f}}, {"mlp" + none, after{f, f, f, f, f, nil}},
		{"c_fc" + none, mlp{nil, f, f, hand.Dropout[float64]{}}}, {"act" + none, mlp{Fc: f, Proj: f}}, {"c_proj" + none, mlp{Fc: f, Act: f}},
		{"c_q" + none, mla{nil, f, f, f, heads, f, hand.Dropout[float64]{}}}, {"c_kv_down" + none, mla{f, nil, f, f, heads, f, hand.Dropout[float64]{}}},
		{"c_k_up" + none, mla{f, f, nil, f, heads, f, hand.Dropout[float64]{}}}, {"c_v_up" + none, mla{f, f, f, nil, heads, f, hand.Dropout[float64]{}}},
		{"c_proj" + none, mla{f, f, f, f, heads, nil, hand.Dropout[float64]{}}},
		{"c_q_down" + none, rope{nil, f, f, f, f, f, f, false, f, heads, f, hand.Dropout[float64]{}}},
		{"c_q_up" + none, rope{f, nil, f, f, f, f, f, false, f, heads, f, hand.Dropout[float64]{}}},
		{"c_q_rope" + none, rope{f, f, nil, f, f, f, f, false, f, heads, f, hand.Dropout[float64]{}}},
		{"c_kv_down" + none, rope{f, f, f, nil, f, f, f, false, f, heads, f, hand.Dropout[float64]{}}},
		{"c_k_up" + none, rope{f, f, f, f, nil, f, f, false, f, heads, f, hand.Dropout[float64]{}}},
		{"c_k_rope" + none, rope{f, f, f, f, f, nil, f, false, f, heads, f, hand.Dropout[float64]{}}},
		{"c_v_up" + none, rope{f, f, f, f, f, f, nil, false, f, heads, f, hand.Dropout[float64]{}}},
		{"rotary" + none, rope{f, f, f, f, f, f, f, false, nil, heads, f, hand.Dropout[float64]{}}},
		{"c_proj" + none, rope{f, f, f, f, f, to(3), f, false, f, heads, nil, hand.Dropout[float64]{}}},
		{"c_attn" + none, self{QK: 2, Heads: heads, Proj: f}}, {"c_proj" + none, self{QKV: f, QK: 2, Heads: heads}},
		{"c_q" + none, cross{KV: f, QK: 4, Memory: x, Heads: heads, Proj: f}}, {"c_kv" + none, cross{Query: to(4), QK: 4, Memory: x, Heads: heads, Proj: f}},
		{"c_proj" + none, cross{Query: to(4), KV: f, QK: 4, Memory: x, Heads: heads}},
		{"c_attn" + none, short{QK: 2, E: x.Columns(0, 2), F: x.Columns(0, 2), Batch: 2, Heads: 2, Proj: f}},
		{"c_proj" + none, short{QKV: f, QK: 2, E: x.Columns(0, 2), F: x.Columns(0, 2), Batch: 2, Heads: 2}},
		{"c_attn" + none, long{Global: f, QK: 2, Batch: 2, Heads: 2, Masks: some, Proj: f}},
		{"c_attn_global" + none, long{Local: f, QK: 2, Batch: 2, Heads: 2, Masks: some, Proj: f}},
		{"c_proj" + none, long{Local: f, Global: f, QK: 2, Batch: 2, Heads: 2, Masks: some}},
		{"hand: no Masks, got nil", long{Local: f, Global: f, QK: 2, Batch: 2, Heads: 2, Proj: f}},
		{"c_input" + none, hand.Elman[float64]{Weight: x.Tokens(0, 1), Batch: 2}},
		{"features" + none, alone(hand.LinearAttention[float64]{})}, {"features" + none, alone(hand.LinearScan[float64]{})},
		{"hand: no Head, got nil", alone(nil)}, {"hand: no Head, got nil", hand.Unprojected[float64]{Heads: hand.Heads[float64]{Batch: 2, Count: 2}}},
	} {
		y := c.Forward(x)
		dx, g := c.Backward(x, x)
		if err := errors.Join(g.Err(), dx.Err); y.Err == nil || y.Err.Error() != c.want || err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%T: got %v and %v, want %s", c.layer, y.Err, err, c.want)
		}
	}
}

// So is a model without one of its parts.
func TestMissingPartsOfModels(t *testing.T) {
	stack := hand.Stack[float64]{Tokens: hand.Embedding[float64]{Weight: fixture.Random("wte", 7, 7)}}
	holed := stack
	holed.Blocks = []layer{hand.ReLU[float64]{}, nil}
	is := func(s hand.Stack[float64]) func(matrix) hand.Stack[float64] {
		return func(matrix) hand.Stack[float64] { return s }
	}
	head, text := layer(hand.ReLU[float64]{}), hand.Text{Source: []int{0, 1}, Tokens: []int{1, 2}, Targets: []int{2, 3}}
	score := func(targets []int) layer { return hand.CrossEntropy[float64]{Targets: targets} }
	for _, c := range []struct {
		want string
		m    hand.Model[float64]
	}{
		{"lm_head: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Loss: score}},
		{"loss: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Head: head}},
		{"loss: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Head: head, Loss: func([]int) layer { return nil }}},
		{"wte: hand: no Decoder, got nil", hand.Model[float64]{Head: head, Loss: score}},
		{"decoder.wte: hand: no Decoder, got nil", hand.Model[float64]{Encoder: &stack, Head: head, Loss: score}},
		{"h.1: hand: no layer, got nil", hand.Model[float64]{Decoder: is(holed), Head: head, Loss: score}},
		{"encoder.h.1: hand: no layer, got nil", hand.Model[float64]{Encoder: &holed, Decoder: is(stack), Head: head, Loss: score}},
	} {
		y := c.m.Forward(text)
		_, err := c.m.Backward(text)
		if y.Err == nil || y.Err.Error() != c.want || err == nil {
			t.Errorf("got %v and %v, want %s", y.Err, err, c.want)
		}
	}
}
