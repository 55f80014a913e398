package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/kerneltest"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
)

// BenchmarkElementwise times every kernel on one thread, in every instruction set and in plain Go. GB/s counts the
// bytes read and written.
func BenchmarkElementwise(b *testing.B) {
	const tokens, d, cols, n = 768, 128, 64, 768 * 128
	p := NewPool(1)
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := kerneltest.Random[float32](rng, n), kerneltest.Random[float32](rng, n)
	z, u := kerneltest.Random[float32](rng, n), make([]float32, n)
	w, bias := kerneltest.Random[float32](rng, d), kerneltest.Random[float32](rng, d)
	mean, inv, lse := make([]float32, tokens), make([]float32, tokens), make([]float32, n/cols)
	dw, db, scratch := make([]float32, d), make([]float32, d), make([]float32, 2*Parts*d)
	weights, targets, ids := make([]float32, n), make([]int, n/cols), make([]int, tokens)
	mask, causal := make([]float32, cols*cols), make([]float32, cols*cols)
	for i := range cols {
		for j := i + 1; j < cols; j++ {
			causal[i*cols+j] = float32(math.Inf(-1))
		}
	}
	sets := simd.Sets()
	if sets == nil {
		sets = map[string]*simd.Set{}
	}
	sets["Go"] = nil
	softmaxAll := func(mask []float32) {
		for i := 0; i < n; i += cols {
			row := i % (cols * cols)
			Softmax(weights[i:i+cols], mask[row:row+cols])
		}
	}
	softmaxAll(mask)
	LayerNorm(p, u, Norm[float32]{x, w, bias, mean, inv, 1e-5})
	for _, k := range []struct {
		name  string
		bytes int // of an entry
		run   func()
	}{
		{"Add", 12, func() { Add(p, u, x, y) }},
		{"ReLU", 8, func() { ReLU(p, u, x) }},
		{"ReLUBackward", 12, func() { ReLUBackward(p, u, x, y) }},
		{"ReLU2", 8, func() { ReLU2(p, u, x) }},
		{"ReLU2Backward", 12, func() { ReLU2Backward(p, u, x, y) }},
		{"SumRows", 4, func() { SumRows(p, dw, x, scratch[:Parts*d]) }},
		{"Exp", 8, func() {
			if simd.Of[float32]() != nil {
				simd.Of[float32]().Exp(u, x, 0, 1)
				return
			}
			for i, v := range x {
				u[i] = Exp(v)
			}
		}},
		{"GELU", 8, func() { GELU(p, u, x) }},
		{"GELUBackward", 12, func() { GELUBackward(p, u, x, y) }},
		{"GELUTanh", 8, func() { GELUTanh(p, u, x) }},
		{"GELUTanhBackward", 12, func() { GELUTanhBackward(p, u, x, y) }},
		{"Sigmoid", 8, func() { Sigmoid(p, u, x) }},
		{"SigmoidBackward", 12, func() { SigmoidBackward(p, u, x, y) }},
		{"Softplus", 8, func() { Softplus(p, u, x) }},
		{"SiLU", 8, func() { SiLU(p, u, x) }},
		{"SiLUBackward", 12, func() { SiLUBackward(p, u, x, y) }},
		{"SwiGLU", 12, func() { SwiGLU(p, u, x, y) }},
		{"SwiGLUBackward", 20, func() { SwiGLUBackward(p, u, weights, x, z, y) }},
		{"Softmax64", 12, func() { softmaxAll(mask) }},
		{"Softmax64Causal", 12, func() { softmaxAll(causal) }},
		{"CrossEntropy64", 4, func() { CrossEntropy(p, x, lse, targets, -1) }},
		{"CrossEntropyBackward64", 8, func() { CrossEntropyBackward(p, u, x, lse, targets, -1, 1) }},
		{"LayerNorm128", 8, func() { LayerNorm(p, u, Norm[float32]{x, w, bias, mean, inv, 1e-5}) }},
		{"LayerNormBackward128", 12, func() {
			LayerNormBackward(
				p, Norm[float32]{X: x, W: w, Mean: mean, Spread: inv}, y, NormGrads[float32]{u, dw, db, scratch},
			)
		}},
		{"LayerNormSigma128", 8, func() { LayerNormSigma(p, u, Norm[float32]{x, w, bias, mean, inv, 1e-5}) }},
		{"LayerNormSigmaBackward128", 12, func() {
			LayerNormSigmaBackward(
				p, Norm[float32]{X: x, W: w, Mean: mean, Spread: inv, Eps: 1e-5}, y,
				NormGrads[float32]{u, dw, db, scratch},
			)
		}},
		{"RMSNorm128", 8, func() { RMSNorm(p, u, Norm[float32]{X: x, W: w, Spread: inv, Eps: 1e-5}) }},
		{"RMSNormBackward128", 12, func() {
			RMSNormBackward(
				p, Norm[float32]{X: x, W: w, Spread: inv}, y, NormGrads[float32]{X: u, W: dw, Scratch: scratch},
			)
		}},
		{"AdamW", 28, func() { Update(AdamW{1e-5, 0.9, 0.99, 1e-8, 0.1}, 9, 1, x, y, z, weights) }},
		{"SumSquares", 4, func() { SumSquares(p, x) }},
		{"Dropout", 8, func() { Dropout(p, u, x, DropMask{P: 0.1, Key: 1}) }},
		{"ScatterAdd", 12, func() { ScatterAdd(p, u, x, ids, d) }},
	} {
		for set, fast := range sets {
			b.Run(k.name+"/"+set, func(b *testing.B) {
				defer simd.Use(fast)()
				clear(u)
				for i := range weights { // stay positive, like second moments
					weights[i] = 1. / cols
				}
				for b.Loop() {
					k.run()
				}
				ns := b.Elapsed().Seconds() * 1e9 / float64(b.N) / n
				b.ReportMetric(ns, "ns/entry")
				b.ReportMetric(float64(k.bytes)/ns, "GB/s")
			})
		}
	}
}
