package papers

import "github.com/pedestrian-ml/pedestrian/verify/hand"

// The tests write formulas as functions of their matrices. Each is one line over the layer of verify/hand.

type (
	matrix            = hand.Matrix[float64]
	complexMatrix     = hand.Matrix[complex128] // values of a forward pass in the complex step
	parameters        = hand.Parameters[float64]
	complexParameters = hand.Parameters[complex128]
)

// asTheyAre is the identity layer, for features or projections that a test has already applied.
type asTheyAre[T hand.Number] struct{}

func (asTheyAre[T]) Forward(x hand.Matrix[T]) hand.Matrix[T] { return x }

func (asTheyAre[T]) Backward(_, delta hand.Matrix[T]) (hand.Matrix[T], hand.Gradients[T]) {
	return delta, nil
}

func linearForward[T hand.Number](x, w, b hand.Matrix[T]) hand.Matrix[T] {
	return hand.Linear[T]{Weight: w, Bias: b}.Forward(x)
}

func linearBackward[T hand.Number](x, w, delta hand.Matrix[T]) (dx, dw, db hand.Matrix[T]) {
	dx, g := hand.Linear[T]{Weight: w, Bias: hand.Zeros[T](1, w.Cols)}.Backward(x, delta)
	return dx, g.Parameters()["weight"], g.Parameters()["bias"]
}

func layerNormForward[T hand.Number](x, w, b hand.Matrix[T], eps float64) hand.Matrix[T] {
	return hand.LayerNorm[T]{Weight: w, Bias: b, Eps: eps}.Forward(x)
}

func layerNormBackward[T hand.Number](x, w, delta hand.Matrix[T], eps float64) (dx, dw, db hand.Matrix[T]) {
	dx, g := hand.LayerNorm[T]{Weight: w, Bias: hand.Zeros[T](1, w.Cols), Eps: eps}.Backward(x, delta)
	return dx, g.Parameters()["weight"], g.Parameters()["bias"]
}

func layerNormSigmaForward[T hand.Number](x, w, b hand.Matrix[T], eps float64) hand.Matrix[T] {
	return hand.LayerNormSigma[T]{Weight: w, Bias: b, Eps: eps}.Forward(x)
}

func layerNormSigmaBackward[T hand.Number](x, w, delta hand.Matrix[T], eps float64) (dx, dw, db hand.Matrix[T]) {
	dx, g := hand.LayerNormSigma[T]{Weight: w, Bias: hand.Zeros[T](1, w.Cols), Eps: eps}.Backward(x, delta)
	return dx, g.Parameters()["weight"], g.Parameters()["bias"]
}

func layerNormPlainForward[T hand.Number](x hand.Matrix[T], eps float64) hand.Matrix[T] {
	return hand.LayerNormPlain[T]{Eps: eps}.Forward(x)
}

func layerNormPlainBackward[T hand.Number](x, delta hand.Matrix[T], eps float64) hand.Matrix[T] {
	dx, _ := hand.LayerNormPlain[T]{Eps: eps}.Backward(x, delta)
	return dx
}

// activation returns the layer of that name.
func activation[T hand.Number](name string) hand.Layer[T] {
	return map[string]hand.Layer[T]{
		"gelu": hand.GELU[T]{}, "gelu_tanh": hand.GELUTanh[T]{}, "relu": hand.ReLU[T]{},
	}[name]
}

func activationForward[T hand.Number](name string, x hand.Matrix[T]) hand.Matrix[T] {
	return activation[T](name).Forward(x)
}

func activationBackward[T hand.Number](name string, x, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := activation[T](name).Backward(x, delta)
	return dx
}

func geluForward[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] { return hand.GELU[T]{}.Forward(x) }

func geluBackward[T hand.Number](x, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := hand.GELU[T]{}.Backward(x, delta)
	return dx
}

func geluTanhForward[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] {
	return hand.GELUTanh[T]{}.Forward(x)
}

func geluTanhBackward[T hand.Number](x, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := hand.GELUTanh[T]{}.Backward(x, delta)
	return dx
}

func reluForward[T hand.Number](x hand.Matrix[T]) hand.Matrix[T] { return hand.ReLU[T]{}.Forward(x) }

func reluBackward[T hand.Number](x, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := hand.ReLU[T]{}.Backward(x, delta)
	return dx
}

// mlpParameters are w₁ (d, f), b₁ (1, f), w₂ (f, d) and b₂ (1, d), biases optional.
type mlpParameters[T hand.Number] struct{ W1, B1, W2, B2 hand.Matrix[T] }

func mlpLayer[T hand.Number](p mlpParameters[T], name string) hand.MLP[T] {
	return hand.MLP[T]{
		Fc: hand.Linear[T]{Weight: p.W1, Bias: p.B1}, Act: activation[T](name),
		Proj: hand.Linear[T]{Weight: p.W2, Bias: p.B2},
	}
}

func mlpForward[T hand.Number](x hand.Matrix[T], p mlpParameters[T], name string) hand.Matrix[T] {
	return mlpLayer(p, name).Forward(x)
}

func mlpBackward[T hand.Number](
	x hand.Matrix[T], p mlpParameters[T], name string, delta hand.Matrix[T],
) (dx hand.Matrix[T], d mlpParameters[T]) {
	dx, g := mlpLayer(p, name).Backward(x, delta)
	by := g.Parameters()
	return dx, mlpParameters[T]{by["c_fc.weight"], by["c_fc.bias"], by["c_proj.weight"], by["c_proj.bias"]}
}

func residualForward[T hand.Number](x, s hand.Matrix[T]) hand.Matrix[T] { return x.Add(s) }

func residualBackward[T hand.Number](delta, through hand.Matrix[T]) hand.Matrix[T] {
	return delta.Add(through)
}

func embeddingForward[T hand.Number](w hand.Matrix[T], tokens []int) hand.Matrix[T] {
	return hand.Embedding[T]{Weight: w}.Forward(tokens)
}

func embeddingBackward[T hand.Number](w hand.Matrix[T], tokens []int, delta hand.Matrix[T]) hand.Matrix[T] {
	return hand.Embedding[T]{Weight: w}.Backward(tokens, delta).Parameters()["weight"]
}

func dropoutForward[T hand.Number](x hand.Matrix[T], mask matrix) hand.Matrix[T] {
	return hand.Dropout[T]{Mask: mask}.Forward(x)
}

func dropoutBackward[T hand.Number](mask matrix, delta hand.Matrix[T]) hand.Matrix[T] {
	dx, _ := hand.Dropout[T]{Mask: mask}.Backward(delta, delta)
	return dx
}

func loraForward[T hand.Number](x, d, u hand.Matrix[T], scale float64) hand.Matrix[T] {
	return hand.LoRA[T]{Down: d, Up: u, Scale: scale}.Forward(x)
}

func loraBackward[T hand.Number](
	x, d, u hand.Matrix[T], scale float64, delta hand.Matrix[T],
) (dx, dd, du hand.Matrix[T]) {
	dx, g := hand.LoRA[T]{Down: d, Up: u, Scale: scale}.Backward(x, delta)
	return dx, g.Parameters()["lora_d"], g.Parameters()["lora_u"]
}

func crossEntropyForward[T hand.Number](logits hand.Matrix[T], targets []int, reduction hand.Reduction) hand.Matrix[T] {
	return hand.CrossEntropy[T]{Targets: targets, Reduction: reduction}.Forward(logits)
}

func crossEntropyBackward[T hand.Number](
	logits hand.Matrix[T], targets []int, reduction hand.Reduction,
) hand.Matrix[T] {
	dz, _ := hand.CrossEntropy[T]{Targets: targets, Reduction: reduction}.Backward(logits, hand.Zeros[T](1, 1).Shift(1))
	return dz
}

func elmanForward[T hand.Number](x, u, w, b hand.Matrix[T], batch int) hand.Matrix[T] {
	return hand.Elman[T]{Input: hand.Linear[T]{Weight: u, Bias: b}, Weight: w, Batch: batch}.Forward(x)
}

func elmanBackward[T hand.Number](
	x, u, w, b hand.Matrix[T], batch int, delta hand.Matrix[T],
) (dx, du, dw, db hand.Matrix[T]) {
	dx, g := hand.Elman[T]{Input: hand.Linear[T]{Weight: u, Bias: b}, Weight: w, Batch: batch}.Backward(x, delta)
	by := g.Parameters()
	return dx, by["c_input.weight"], by["weight"], by["c_input.bias"]
}

func reinforceForward[T hand.Number](logits hand.Matrix[T], r hand.Rollout) hand.Matrix[T] {
	return hand.Reinforce[T]{Rollout: r}.Forward(logits)
}

func reinforceBackward(logits matrix, r hand.Rollout) matrix {
	dz, _ := hand.Reinforce[float64]{Rollout: r}.Backward(logits, ones(1, 1))
	return dz
}

func ppoForward[T hand.Number](logits hand.Matrix[T], r hand.Rollout, eps float64) hand.Matrix[T] {
	return hand.PPO[T]{Rollout: r, Clip: eps}.Forward(logits)
}

func ppoBackward(logits matrix, r hand.Rollout, eps float64) matrix {
	dz, _ := hand.PPO[float64]{Rollout: r, Clip: eps}.Backward(logits, ones(1, 1))
	return dz
}
