package hostile

import (
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// shapes are the shapes of the parameters of every layer by hand, for two sequences of one token, two heads, and sizes
// of two features.
var shapes = map[string][2]int{
	"weight": {2, 2}, "bias": {1, 2}, "alpha": {1, 1}, "sinks": {1, 2}, "lora_d": {2, 1}, "lora_u": {1, 2}, "x": {2, 2},
	"c_attn.weight": {2, 6}, "c_attn_global.weight": {2, 6}, "c_proj.weight": {2, 2}, "c_fc.weight": {2, 2},
	"c_gate.weight": {2, 2},
	"c_q.weight":    {2, 2}, "c_kv.weight": {2, 4}, "c_input.weight": {2, 2}, "e.weight": {2, 1}, "f.weight": {2, 1},
	"q.lora_d": {2, 1}, "q.lora_u": {1, 2}, "c_kv_down.weight": {2, 2}, "c_k_up.weight": {2, 2},
	"c_v_up.weight": {2, 2}, "c_q_down.weight": {2, 2},
	"c_q_up.weight": {2, 2}, "c_q_rope.weight": {2, 4}, "c_k_rope.weight": {2, 2},
}

func handValues[T hand.Number](v table) {
	type (
		matrix = hand.Matrix[T]
		layer  = hand.Layer[T]
		site   = hand.Site[T]
	)
	define(v, func(*world) matrix { return hand.NewMatrix[T](2, 2, 1, 2, 3, 5) })
	define(v, func(*world) []matrix { return []matrix{hand.NewMatrix[T](2, 2, 1, 2, 3, 5)} })
	define(v, func(w *world) hand.Parameters[T] {
		p := hand.Parameters[T]{}
		for name, shape := range shapes {
			p[name] = hand.Zeros[T](shape[0], shape[1]).Shift(0.5)
		}
		return p
	})
	define(v, func(w *world) site { return site{Parameters: get[hand.Parameters[T]](w), Eps: 1, LoRAScale: 1} })
	define(v, func(*world) layer { return hand.GELU[T]{} })
	define(v, func(w *world) hand.Values[T] {
		values := hand.Values[T]{}
		for _, name := range []string{"x", "q", "k", "v", "qᵍ", "kᵍ", "vᵍ", "y"} {
			values[name] = get[matrix](w)
		}
		return values
	})
	define(v, func(*world) hand.Apply[T] {
		return hand.Apply[T]{Name: "act", From: "x", To: "y", Layer: hand.GELU[T]{}}
	})
	define(v, func(w *world) hand.Skip[T] {
		return hand.Skip[T]{Name: "h.1", Lambda: hand.NewMatrix[T](1, 2, 1, 0.5), From: "y"}
	})
	define(v, func(*world) hand.Connections[T] {
		return func(string) hand.Connection[T] {
			return hand.Connection[T]{
				Read: hand.Chain[T]{hand.Keep[T]("x", "h")}, Write: hand.Chain[T]{hand.Keep[T]("y", "x")},
			}
		}
	})
	define(v, func(w *world) hand.Link[T] { return get[hand.Apply[T]](w) })
	define(v, func(w *world) hand.PackedQKV[T] {
		return hand.PackedQKV[T]{Layer: get[site](w).At("c_attn").Linear(), Queries: 2, Keys: 2}
	})
	define(v, func(w *world) hand.Mixtures[T] { return get[hand.Linformer[T]](w).Heads })
	define(v, func(w *world) hand.Windows[T] {
		return hand.Windows[T]{Batch: 2, Heads: 2, Masks: get[func(b, h int) hand.LongformerMask](w)}
	})
	define(v, func(*world) hand.RoPE[T] { return hand.RoPE[T]{Positions: []int{0, 1}, Size: 2, Theta: 10} })
	define(v, func(*world) hand.Head[T] { return hand.Attention[T]{} })
	define(v, func(w *world) hand.Heads[T] {
		return hand.Heads[T]{Batch: 2, Count: 2, Head: func(int, int) hand.Head[T] { return hand.Attention[T]{} }}
	})
	define(v, func(w *world) func(b, h int) hand.LongformerMask {
		one := hand.CausalMask(1)
		return func(int, int) hand.LongformerMask { return hand.LongformerMask{Local: one, Global: one} }
	})
	define(v, func(w *world) func(targets []int) layer {
		return func(targets []int) layer { return hand.CrossEntropy[T]{Targets: targets} }
	})
	define(v, func(w *world) func(z matrix) hand.Stack[T] {
		return func(matrix) hand.Stack[T] { return get[hand.Stack[T]](w) }
	})
	define(v, func(w *world) hand.Embeddings[T] {
		return hand.Embeddings[T]{
			hand.Tokens[T]{Weight: get[matrix](w)}, hand.Embedded[T]{Name: "wpe", Layer: get[layer](w)},
		}
	})
	define(v, func(w *world) hand.Embedder[T] { return hand.Tokens[T]{Weight: get[matrix](w)} })
	define(v, func(w *world) hand.Stack[T] {
		l := get[layer](w)
		return hand.Stack[T]{Embeddings: get[hand.Embeddings[T]](w), Blocks: []layer{get[hand.Block[T]](w)}, Norm: l}
	})
	define(v, func(w *world) hand.Text {
		return hand.Text{Source: []int{0, 1}, Tokens: []int{1, 0}, Targets: []int{0, 1}}
	})
	define(v, func(w *world) hand.Rollout {
		column := func() hand.Matrix[float64] { return hand.NewMatrix[float64](2, 1, 0.5, 0.25) }
		return hand.Rollout{Actions: []int{1, 0}, Advantages: column(), Weights: column(), LogProbs: column()}
	})
	define(v, func(w *world) hand.Gradients[T] {
		return hand.Gradients[T]{{Name: "w", Value: get[matrix](w)}}
	})
	define(v, func(w *world) hand.Dropout[T] { return hand.Dropout[T]{Mask: hand.CausalMask(2)} })
	define(v, func(w *world) hand.Flash[T] { return hand.Flash[T]{Queries: 1, Keys: 1} })
	define(v, func(w *world) hand.Linear[T] { return get[site](w).Linear() })
	define(v, func(w *world) hand.Partial[T] { m := get[matrix](w); return hand.NewPartial(m, m) })
	define(v, func(w *world) hand.LoRA[T] { m := get[matrix](w); return hand.LoRA[T]{Down: m, Up: m, Scale: 1, To: 2} })
	define(v, func(w *world) hand.MLP[T] { return get[site](w).MLP(hand.GELU[T]{}).(hand.MLP[T]) })
	define(v, func(w *world) hand.GLU[T] { return get[site](w).GLU(hand.SiLU[T]{}).(hand.GLU[T]) })
	define(v, func(w *world) hand.Elman[T] { return get[site](w).Elman(2).(hand.Elman[T]) })
	define(v, func(w *world) hand.MLA[T] { return get[site](w).MLA(get[hand.Heads[T]](w)).(hand.MLA[T]) })
	define(v, func(w *world) hand.Linformer[T] { return get[site](w).Linformer(2, 2, 2) })
	define(v, func(w *world) hand.SelfAttention[T] {
		return get[site](w).SelfAttention(get[hand.Heads[T]](w), 2, nil)
	})
	define(v, func(w *world) hand.CrossAttention[T] {
		return get[site](w).CrossAttention(get[hand.Heads[T]](w), 2, get[matrix](w)).(hand.CrossAttention[T])
	})
	define(v, func(w *world) hand.MLARoPE[T] {
		return get[site](w).MLARoPE(get[hand.Heads[T]](w), get[layer](w), false).(hand.MLARoPE[T])
	})
	define(v, func(w *world) hand.Longformer[T] {
		masks := get[func(b, h int) hand.LongformerMask](w)
		return get[site](w).Longformer(2, 2, 2, nil, masks)
	})
	define(v, func(w *world) hand.MLAAbsorbed[T] {
		m := get[matrix](w)
		return hand.MLAAbsorbed[T]{Wq: m, Down: m, UpK: m, UpV: m, Wo: m, Batch: 2, Heads: 2}
	})
	define(v, func(w *world) hand.CrossEntropy[T] { return hand.CrossEntropy[T]{Targets: []int{0, 1}} })
	define(v, func(w *world) hand.MultiToken[T] {
		return hand.MultiToken[T]{CrossEntropy: get[hand.CrossEntropy[T]](w), Heads: 1, Length: 2}
	})
	define(v, func(w *world) hand.Cache[T] { m := get[matrix](w); return hand.Cache[T]{K: m, V: m} })
	define(v, func(w *world) hand.Partial[T] { m := get[matrix](w); return hand.NewPartial(m, m) })
	define(v, func(w *world) hand.LoRA[T] { m := get[matrix](w); return hand.LoRA[T]{Down: m, Up: m, Scale: 1, To: 2} })
}
