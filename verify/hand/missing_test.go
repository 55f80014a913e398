package hand_test

import (
	"errors"
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
		{"ln_1" + none, block{nil, f, f, f}},
		{"attn" + none, block{f, nil, f, f}},
		{"ln_2" + none, block{f, f, nil, f}},
		{"mlp" + none, block{f, f, f, nil}},
		{"ln_1" + none, post{nil, f, f, f}},
		{"attn" + none, post{f, nil, f, f}},
		{"ln_2" + none, post{f, f, nil, f}},
		{"mlp" + none, post{f, f, f, nil}},
		{"ln_1" + none, decoder{nil, f, f, f, f, f}},
		{"attn" + none, decoder{f, nil, f, f, f, f}},
		{"ln_cross" + none, decoder{f, f, nil, f, f, f}},
		{"cross" + none, decoder{f, f, f, nil, f, f}},
		{"ln_2" + none, decoder{f, f, f, f, nil, f}},
		{"mlp" + none, decoder{f, f, f, f, f, nil}},
		{"ln_1" + none, after{nil, f, f, f, f, f}},
		{"attn" + none, after{f, nil, f, f, f, f}},
		{"ln_cross" + none, after{f, f, nil, f, f, f}},
		{"cross" + none, after{f, f, f, nil, f, f}},
		{"ln_2" + none, after{f, f, f, f, nil, f}},
		{"mlp" + none, after{f, f, f, f, f, nil}},
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
		{"c_attn" + none, self{QK: 2, Heads: heads, Proj: f}},
		{"c_proj" + none, self{QKV: f, QK: 2, Heads: heads}},
		{"c_q" + none, cross{KV: f, QK: 4, Memory: x, Heads: heads, Proj: f}},
		{"c_kv" + none, cross{Query: to(4), QK: 4, Memory: x, Heads: heads, Proj: f}},
		{"c_proj" + none, cross{Query: to(4), KV: f, QK: 4, Memory: x, Heads: heads}},
		{"c_attn" + none, short{QK: 2, E: x.Columns(0, 2), F: x.Columns(0, 2), Batch: 2, Heads: 2, Proj: f}},
		{"c_proj" + none, short{QKV: f, QK: 2, E: x.Columns(0, 2), F: x.Columns(0, 2), Batch: 2, Heads: 2}},
		{"c_attn" + none, long{Global: f, QK: 2, Batch: 2, Heads: 2, Masks: some, Proj: f}},
		{"c_attn_global" + none, long{Local: f, QK: 2, Batch: 2, Heads: 2, Masks: some, Proj: f}},
		{"c_proj" + none, long{Local: f, Global: f, QK: 2, Batch: 2, Heads: 2, Masks: some}},
		{"hand: no Masks, got nil", long{Local: f, Global: f, QK: 2, Batch: 2, Heads: 2, Proj: f}},
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
