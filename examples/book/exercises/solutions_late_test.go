package exercises

// lateSolutions holds an answer to each exercise of the chapters from 10 on. Do not look before you have tried.
var lateSolutions = answers{
	"position-table": func(m Named) Matrix {
		delta, n := m["Δ"], m["p"].Rows
		return delta.Tokens(0, n).Add(delta.Tokens(n, 2*n))
	},
	"rotation-gradient": func(m Named) Matrix { return m["Δ"].MatMul(m["R"].Transpose()) },
	"rotation-score": func(m Named) Matrix {
		r := m["R"]
		return m["q"].MatMul(r).MatMul(r).MatMul(r).MatMul(m["k"].Transpose())
	},
	"alibi-slope": func(m Named) Matrix { return total(m["Δ"].Mul(m["D"])).Scale(-1) },

	"lora-up": func(m Named) Matrix {
		return m["x"].MatMul(m["a"]).Transpose().MatMul(m["Δ"]).Mul(m["k"])
	},
	"lora-down": func(m Named) Matrix {
		return m["x"].Transpose().MatMul(m["Δ"]).MatMul(m["b"].Transpose()).Mul(m["k"])
	},
	"grouped-key": func(m Named) Matrix { return m["Δ"].Transpose().MatMul(m["q"].Add(m["u"])) },
	"latent-key": func(m Named) Matrix {
		return m["c"].Transpose().MatMul(m["Δ"].Transpose()).MatMul(m["q"])
	},

	"linear-attention-keys": func(m Named) Matrix {
		return m["v"].MatMul(m["Δ"].Transpose()).MatMul(m["Q"])
	},
	"delta-rule-value": func(m Named) Matrix { return m["k"].MatMul(m["Δ"]).Mul(m["b"]) },
	"delta-rule-state": func(m Named) Matrix {
		k := m["k"]
		return m["Δ"].Sub(k.Transpose().MatMul(k.MatMul(m["Δ"])).Mul(m["b"]))
	},
	"delta-rule-force": func(m Named) Matrix { return total(m["k"].MatMul(m["Δ"]).Mul(m["e"])) },

	"expert-gate": func(m Named) Matrix { return m["Δ"].Mul(m["a"]).Sum() },
	"router-logits": func(m Named) Matrix {
		p, h := m["p"], m["c"].Mul(m["Δ"])
		return p.Mul(h.Sub(p.Mul(h).Sum()))
	},
	"divided-gates": func(m Named) Matrix {
		return m["Δ"].Sub(m["Δ"].Mul(m["g"]).Sum()).Div(m["s"])
	},
	"balance-logits": func(m Named) Matrix {
		p, f := m["p"], m["f"]
		return p.Mul(f.Sub(p.Mul(f).Sum())).Scale(float64(p.Cols)).Scale(1 / float64(p.Rows))
	},

	"head-share":    func(m Named) Matrix { return m["a"].Sub(m["a"].Mean()).MatMul(m["w"]) },
	"knob-gradient": func(m Named) Matrix { return total(m["Δ"].Mul(m["b"])) },
	"without-part": func(m Named) Matrix {
		b := m["b"]
		return total(b.Square()).Scale(0.5).Sub(total(m["Δ"].Mul(b)))
	},
	"note-gradient": func(m Named) Matrix { return m["Δ"].Transpose().MatMul(m["x"]) },

	"mean-slope": func(m Named) Matrix { return m["m"].Sub(m["x"].Mean()).Scale(2) },
	"difference-variance": func(m Named) Matrix {
		u, v := m["u"], m["v"]
		return u.Square().Mean().Add(v.Square().Mean()).Sub(u.Mul(v).Mean().Scale(2))
	},
	"three-flips": func(m Named) Matrix {
		return m["p"].Square().Add(m["q"].Square()).Add(m["r"].Square())
	},

	"source-gradient": func(m Named) Matrix {
		delta, h := m["Δ"], m["u"].Cols
		keys, values := delta.Columns(0, h), delta.Columns(h, 2*h)
		return keys.MatMul(m["u"].Transpose()).Add(values.MatMul(m["e"].Transpose()))
	},
	"value-matrix": func(m Named) Matrix {
		return m["z"].Transpose().MatMul(m["ρ"].Transpose()).MatMul(m["Δ"])
	},
	"cross-query": func(m Named) Matrix {
		rho, r := m["ρ"], m["r"]
		return rho.Mul(r.Sub(rho.Mul(r).Sum())).MatMul(m["k"])
	},
	"shared-source": func(m Named) Matrix { return m["Δ"].MatMul(m["a"].Add(m["b"]).Transpose()) },

	"mean-reward": func(m Named) Matrix {
		pi, r := m["π"], m["r"]
		return pi.Mul(r.Sub(pi.Mul(r).Sum()))
	},
	"ratio-gradient":   func(m Named) Matrix { return m["Δ"].Mul(m["ratio"]).Mul(m["A"]) },
	"penalty-gradient": func(m Named) Matrix { return m["Δ"].Mul(m["δ"].Exp().Scale(-1).Shift(1)) },
	"dpo-chosen":       func(m Named) Matrix { return m["w"].Mul(m["β"]).Mul(m["Δ"]).Scale(-1) },

	"sum-error": func(m Named) Matrix {
		a, b, f := m["a"], m["b"], m["f"]
		return a.Add(b).Mul(m["e"]).Mul(f.Shift(1)).Add(a.Add(b).Add(m["c"]).Mul(f))
	},
	"product-error": func(m Named) Matrix { return m["a"].Mul(m["b"]).Mul(m["e"]).Mul(m["f"].Shift(1)) },
	"variance-by-sums": func(m Named) Matrix {
		x := m["x"]
		return x.Square().Mean().Sub(x.Mean().Square())
	},
}

// total returns the sum of all entries (1, 1).
func total(x Matrix) Matrix { return x.SumTokens().Sum() }
