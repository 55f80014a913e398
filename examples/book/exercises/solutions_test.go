package exercises

import "math"

// solutions holds an answer to each exercise. Do not look before you have tried.
var solutions = answers{
	// Chapter 1
	"embedding-table":  func(m Named) Matrix { return m["X"].Transpose().MatMul(m["Δ"]) },
	"embedding-scaled": func(m Named) Matrix { return m["X"].Transpose().MatMul(m["Δ"]).Mul(m["s"]) },
	"embedding-tied":   func(m Named) Matrix { return m["Δ"].Transpose().MatMul(m["h"]) },

	// Chapter 2
	"linear-input":  func(m Named) Matrix { return m["Δ"].MatMul(m["w"].Transpose()) },
	"linear-weight": func(m Named) Matrix { return m["x"].Transpose().MatMul(m["Δ"]) },
	"linear-two": func(m Named) Matrix {
		return m["x"].Transpose().MatMul(m["Δ"].MatMul(m["u"].Transpose()))
	},

	// Chapter 3
	"softmax-gradient": func(m Named) Matrix {
		p, delta := m["p"], m["Δ"]
		return p.Mul(delta.Sub(p.Mul(delta).Sum()))
	},
	"cross-entropy-logits": func(m Named) Matrix { return m["p"].Sub(m["Y"]) },
	"temperature":          func(m Named) Matrix { return m["p"].Sub(m["Y"]).Div(m["t"]) },

	// Chapter 4
	"layer-norm-bias":   func(m Named) Matrix { return m["Δ"].SumTokens() },
	"layer-norm-gain":   func(m Named) Matrix { return m["Δ"].Mul(m["a"]).SumTokens() },
	"layer-norm-centre": func(m Named) Matrix { return m["Δ"].Sub(m["Δ"].Mean()) },
	"layer-norm-input": func(m Named) Matrix {
		a, g := m["a"], m["g"]
		return g.Sub(g.Mean()).Sub(a.Mul(a.Mul(g).Mean())).Div(m["σ"])
	},
	"rms-norm-input": func(m Named) Matrix {
		a, g := m["a"], m["g"]
		return g.Sub(a.Mul(a.Mul(g).Mean())).Div(m["σ"])
	},

	// Chapter 5
	"attention-values": func(m Named) Matrix { return m["p"].Transpose().MatMul(m["Δ"]) },
	"attention-scores": func(m Named) Matrix {
		p, dp := m["p"], m["Δ"].MatMul(m["v"].Transpose())
		return p.Mul(dp.Sub(p.Mul(dp).Sum()))
	},
	"attention-queries": func(m Named) Matrix { return scaled(m["g"].MatMul(m["k"]), m["q"]) },
	"attention-keys":    func(m Named) Matrix { return scaled(m["g"].Transpose().MatMul(m["q"]), m["q"]) },

	// Chapter 6
	"mlp-relu": func(m Named) Matrix { return m["h"].Step().Mul(m["Δ"].MatMul(m["w"].Transpose())) },
	"mlp-tanh": func(m Named) Matrix {
		return m["t"].Square().Scale(-1).Shift(1).Mul(m["Δ"].MatMul(m["w"].Transpose()))
	},
	"swiglu-gate": func(m Named) Matrix {
		slope := m["p"].Add(m["m"].Mul(m["p"].Scale(-1).Shift(1)))
		return slope.Mul(m["u"]).Mul(m["Δ"].MatMul(m["w"].Transpose()))
	},
	"residual-twice": func(m Named) Matrix { return m["Δ"].Add(m["Δ"].MatMul(m["w"].Transpose())) },

	// Chapter 7
	"model-skip": func(m Named) Matrix {
		back := m["Δ"].MatMul(m["w"].Transpose())
		return m["Δ"].Add(m["t"].Square().Scale(-1).Shift(1).Mul(back))
	},
	"model-two-uses": func(m Named) Matrix {
		first := m["x"].Transpose().MatMul(m["Δ"].MatMul(m["w"].Transpose()))
		return first.Add(m["h"].Transpose().MatMul(m["Δ"]))
	},
	"model-loss": func(m Named) Matrix { return m["p"].Sub(m["Y"]).MatMul(m["w"].Transpose()) },

	// Chapter 8
	"training-two-steps": func(m Named) Matrix {
		return m["w"].Sub(m["η"].Mul(m["μ"].Shift(1).Mul(m["g"]).Add(m["h"])))
	},
	"training-decay": func(m Named) Matrix {
		return m["w"].Mul(m["η"].Mul(m["λ"]).Scale(-1).Shift(1)).Sub(m["η"].Mul(m["u"]))
	},
	"training-clip": func(m Named) Matrix {
		return m["x"].Transpose().MatMul(m["Δ"]).Mul(m["c"]).Div(m["r"])
	},

	// Chapter 9
	"cache-row": func(m Named) Matrix {
		return scaled(m["q"].MatMul(m["k"].Transpose()), m["q"]).Softmax().MatMul(m["v"])
	},
	"sampling-temperature": func(m Named) Matrix {
		cube := m["u"].Mul(m["u"]).Mul(m["u"])
		return cube.Div(cube.Sum())
	},
	"sampling-mixture": func(m Named) Matrix {
		rest := m["p"].Sub(m["q"])
		rest = rest.Mul(rest.Step())
		return rest.Div(rest.Sum())
	},
}

// scaled returns x/√e, where e is the number of features of the queries.
func scaled(x, queries Matrix) Matrix { return x.Scale(1 / math.Sqrt(float64(queries.Cols))) }
