package exact

import (
	"math"
	"testing"
)

// TestField checks the axioms that the road uses, also at the ends of the field.
func TestField(t *testing.T) {
	d := NewDraw(1)
	list := []Element{0, 1, 2, P - 1, P - 2, P / 2, P/2 + 1}
	for range 20 {
		list = append(list, d.Variable(0).Value)
	}
	for _, a := range list {
		if a.add(a.neg()) != 0 || a != 0 && a.mul(a.inverse()) != 1 || a.add(0) != a || a.mul(1) != a {
			t.Errorf("%d has no inverse", a)
		}
		if r := a.root(); r.mul(r) != a && r.mul(r) != a.neg() {
			t.Errorf("√%d squared is %d", a, r.mul(r))
		}
		for _, b := range list {
			if a.sub(b).add(b) != a || a.mul(b) != b.mul(a) || a.mul(b).root() != a.root().mul(b.root()) {
				t.Errorf("%d and %d do not follow the rules of a field", a, b)
			}
			for _, c := range list {
				if a.mul(b.add(c)) != a.mul(b).add(a.mul(c)) {
					t.Errorf("%d (%d + %d) is not the sum of its products", a, b, c)
				}
			}
		}
	}
	if Of(-1) != P-1 || Of(P) != 0 || Of(-P-3) != P-3 {
		t.Error("a negative integer has another residue")
	}
}

// TestConstants checks that constants keep the relations that formulas use.
func TestConstants(t *testing.T) {
	d := NewDraw(2)
	v := func(c float64) Element { return d.Real(c).Value }
	for _, c := range []struct {
		name      string
		got, want Element
	}{
		{"1/7 · 7", v(1 / 7.0).mul(7), 1},
		{"3 · 0.044715", v(3 * 0.044715), v(0.044715).mul(3)},
		{"1 − 0.999", v(1 - 0.999), Element(1).sub(v(0.999))},
		{"ε", v(1e-12).mul(Of(1e12)), 1},
		{"1/√3 · 1/√5 = 1/√15", v(1 / math.Sqrt(3)).mul(v(1 / math.Sqrt(5))), v(1 / math.Sqrt(15))},
		{"√12 = 2√3", v(math.Sqrt(12)), v(math.Sqrt(3)).mul(2)},
		{"√½ squared", v(math.Sqrt2 / 2).mul(v(math.Sqrt2 / 2)), v(0.5)},
		{"½ · 2/√π · √½ = 1/√(2π)", v(0.5).mul(v(2 / math.SqrtPi)).mul(v(math.Sqrt2 / 2)), v(1 / math.Sqrt(2*math.Pi))},
		{"√(2/π) √π = √2", v(math.Sqrt(2 / math.Pi)).mul(v(math.SqrtPi)), v(math.Sqrt2)},
		{"3/√π", v(3 / math.SqrtPi), v(1 / math.SqrtPi).mul(3)},
		{"−e", v(-math.E), v(math.E).neg()},
		{"e", v(math.E), NewDraw(2).Real(math.E).Value},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, c.got, c.want)
		}
	}
	if v(math.E) == NewDraw(3).Real(math.E).Value {
		t.Error("another draw has the same e")
	}
}

// tangent returns the tangent of a as a value.
func tangent(a Number) Number { return a.Derivative() }

// TestFunctions checks the differential equations, and the algebraic relations that formulas use besides.
func TestFunctions(t *testing.T) {
	d := NewDraw(4)
	x := d.Variable(0.5).Along(d.Variable(0).Value, 0.25)
	m, zero := d.Largest(d.Variable(0.75)), Number{}
	one, two := d.Real(1), d.Real(2)
	minus := func(a Number) Number { return d.Sub(zero, a) }
	e, l, r, h := d.Exp(x), d.Log(x), d.Sqrt(x), d.Tanh(x)
	cos, sin := d.Turn(0.3)
	_, back := d.Turn(-0.3)
	for _, c := range []struct {
		name      string
		got, want Number
	}{
		{"e⁰", d.Exp(zero), one},
		{"(eˣ)'", tangent(e), d.Mul(e.Constant(), tangent(x))},
		{"e⁻ˣ", d.Exp(minus(x)), d.Div(one, e)},
		{"e^(x−m)", d.Exp(d.Sub(x, m)), d.Div(e, d.Exp(m))},
		{"e^(m−x)", d.Exp(d.Sub(m, x)), d.Div(d.Exp(m), e)},
		{"e^(ln x)", d.Exp(l), x},
		{"e^(m − ln x)", d.Exp(d.Sub(m, l)), d.Div(d.Exp(m), x)},
		{"(ln x)'", tangent(l), d.Div(tangent(x), x.Constant())},
		{"(√x)'", d.Mul(two, d.Mul(r.Constant(), tangent(r))), tangent(x)},
		{"tanh' x", tangent(h), d.Mul(d.Sub(one, d.Mul(h.Constant(), h.Constant())), tangent(x))},
		{"tanh(−x)", d.Tanh(minus(x)), minus(h)},
		{
			"σ(x) by tanh and by exp", d.Div(d.Add(one, d.Tanh(d.Div(x, two))), two),
			d.Div(one, d.Add(one, d.Exp(minus(x)))),
		},
		{"erf(−x)", d.Erf(minus(x)), minus(d.Erf(x))},
		{"erf' x", tangent(d.Erf(x)),
			d.Mul(d.Mul(d.Real(2/math.SqrtPi), d.Exp(minus(d.Mul(x, x))).Constant()), tangent(x))},
		{"cos² + sin²", d.Add(d.Mul(cos, cos), d.Mul(sin, sin)), one},
		{"sin(−φ)", back, minus(sin)},
		{"(a/b)b", d.Mul(d.Div(e, x), x), e},
	} {
		if c.got.Value != c.want.Value || c.got.Tangent != c.want.Tangent {
			t.Errorf("%s: got %d + %dε, want %d + %dε", c.name,
				c.got.Value, c.got.Tangent, c.want.Value, c.want.Tangent)
		}
		if math.Abs(c.got.Real-c.want.Real) > 1e-12 {
			t.Errorf("%s: got %v, want %v in real numbers", c.name, c.got.Real, c.want.Real)
		}
	}
	if hidden := d.Exp(d.Sub(d.Real(math.Inf(-1)), m)); hidden.Value != 0 || hidden.Tangent != 0 {
		t.Errorf("a hidden score has the weight %d", hidden.Value)
	}
	if !math.IsNaN(d.Div(one, zero).Real) || !math.IsInf(d.Log(zero).Real, -1) {
		t.Error("1/0 is a number")
	}
}
