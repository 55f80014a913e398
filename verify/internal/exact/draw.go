package exact

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
)

// A Draw is one choice of all that is random: the numbers of the parameters, and the values of the functions.
type Draw struct {
	key       uint64
	random    *rand.Rand
	constants map[float64]Number
	inverses  map[Element]Element
	functions map[string]*function

	divisor float64 // largest degree of a divisor
}

// function holds the values of a function in a draw.
type function struct {
	key    uint64
	values map[Element]Element
	degree float64 // largest degree of an argument
}

// NewDraw returns the draw of a seed.
func NewDraw(seed uint64) *Draw {
	random := rand.New(rand.NewPCG(seed, 61))
	return &Draw{
		key: random.Uint64(), random: random, constants: map[float64]Number{},
		inverses: map[Element]Element{}, functions: map[string]*function{},
	}
}

// Made reports whether NewDraw made d.
func (d *Draw) Made() bool { return d != nil && d.random != nil }

// Variable returns a random Number without a tangent. Comparisons take it for the given real number.
func (d *Draw) Variable(real float64) Number {
	return Number{Value: Element(d.random.Uint64N(P)), Real: real, degree: 1}
}

// Along returns a with a tangent, in the field and as a real number.
func (a Number) Along(tangent Element, rate float64) Number {
	a.Tangent, a.Rate, a.slope = tangent, rate, 1
	return a
}

// Bound returns log₂ of a bound on the probability that a false identity holds in this draw, given the degree of its
// two sides. Multiplying both sides by every divisor makes them polynomials, whose degrees grow by the degrees of the
// divisors. Two arguments of a function that are equal by chance would make two independent values one.
func (d *Draw) Bound(degree float64) float64 {
	bound := degree * (1 + float64(len(d.inverses))*max(d.divisor, 1))
	for _, f := range d.functions {
		n := float64(len(f.values))
		bound += n * (n - 1) / 2 * f.degree
	}
	return math.Log2(bound) - 61
}

// value returns the random value of the named function at an argument of the given degree.
func (d *Draw) value(name string, x Element, degree float64) Element {
	f := d.functions[name]
	if f == nil {
		h := fnv.New64a()
		h.Write([]byte(name)) // a hash never fails to write
		f = &function{key: d.key ^ h.Sum64(), values: map[Element]Element{}}
		d.functions[name] = f
	}
	y, ok := f.values[x]
	if !ok {
		y = x.mixed(f.key)
		f.values[x], f.degree = y, max(f.degree, degree)
	}
	return y
}

// inverse returns 1/x for an x of the given degree.
func (d *Draw) inverse(x Element, degree float64) Element {
	y, ok := d.inverses[x]
	if !ok {
		y = x.inverse()
		d.inverses[x], d.divisor = y, max(d.divisor, degree)
	}
	return y
}

// applied returns the value of a function of x, given its derivative there, in the field and as real numbers.
func applied(x Number, value, derivative Element, real, slope float64) Number {
	return Number{
		Value: value, Tangent: derivative.mul(x.Tangent), Real: real, Rate: slope * x.Rate,
		degree: 1, slope: 2 + x.slope,
	}
}

// Exp returns eˣ. Its values satisfy e⁰ = 1, e⁻ˣ = 1/eˣ, and e^(x+m) = eˣeᵐ for a maximum or a logarithm m. A hidden
// score has e^−∞ = 0.
//
// The gradients of hand.Flash need the law for maxima and logarithms, and so does the equality of its tiles with
// attention at once. The gradients of hand.Sigmoid, hand.Softplus and hand.BinaryCrossEntropy need e⁻ˣ = 1/eˣ. Every
// other gradient holds for any values of eˣ.
func (d *Draw) Exp(x Number) Number {
	if math.IsInf(x.Real, -1) {
		return Number{}
	}
	e := d.exp(x.Value.sub(x.shift), x.degree).mul(max(x.factor, 1))
	return applied(x, e, e, math.Exp(x.Real), math.Exp(x.Real))
}

func (d *Draw) exp(x Element, degree float64) Element {
	switch {
	case x == 0:
		return 1
	case x > P/2:
		return d.inverse(d.value("exp", x.neg(), degree), 1)
	}
	return d.value("exp", x, degree)
}

// Log returns ln x, with the derivative 1/x and e^(ln x) = x.
func (d *Draw) Log(x Number) Number {
	if x.Value == 0 {
		return Number{Real: math.Inf(-1)}
	}
	out := applied(x, d.value("log", x.Value, x.degree), d.inverse(x.Value, x.degree), math.Log(x.Real), 1/x.Real)
	out.shift, out.factor = out.Value, x.Value
	return out
}

// Sqrt returns √x, with the derivative 1/(2√x). That (√x)² = x is not used: half of the field has no root.
func (d *Draw) Sqrt(x Number) Number {
	if x.Value == 0 {
		return Number{Real: math.NaN()}
	}
	root := d.value("sqrt", x.Value, x.degree)
	return applied(x, root, d.inverse(root.add(root), 1), math.Sqrt(x.Real), 1/(2*math.Sqrt(x.Real)))
}

// Tanh returns tanh x = (e − 1)/(e + 1), e = e^(2x), with the derivative 1 − tanh² x.
func (d *Draw) Tanh(x Number) Number {
	e := d.exp(x.Value.add(x.Value), x.degree)
	t := e.sub(1).mul(d.inverse(e.add(1), 1))
	real := math.Tanh(x.Real)
	return applied(x, t, Element(1).sub(t.mul(t)), real, 1-real*real)
}

// Erf returns erf x, an odd function with the derivative 2/√π e^(−x²).
func (d *Draw) Erf(x Number) Number {
	var value Element
	switch {
	case x.Value > P/2:
		value = d.value("erf", x.Value.neg(), x.degree).neg()
	case x.Value > 0:
		value = d.value("erf", x.Value, x.degree)
	}
	density := d.Real(2 / math.SqrtPi).Value.mul(d.exp(x.Value.mul(x.Value).neg(), 2*x.degree))
	return applied(x, value, density, math.Erf(x.Real), 2/math.SqrtPi*math.Exp(-x.Real*x.Real))
}

// Function returns the value of the named function of x, given its derivative there and its value in real numbers.
func (d *Draw) Function(name string, x, derivative Number, real float64) Number {
	return applied(x, d.value("own "+name, x.Value, x.degree), derivative.Value, real, derivative.Real)
}

// Largest returns a maximum of scores as a constant: x without its tangent, where e^(y−x) = eʸ/eˣ.
func (d *Draw) Largest(x Number) Number {
	x = x.Constant()
	if math.IsInf(x.Real, -1) {
		return x
	}
	x.shift, x.factor = x.Value, d.Exp(x).Value
	return x
}

// Turn returns cos φ and sin φ: random constants with cos² φ + sin² φ = 1, of which the first is even in φ and the
// second is odd.
func (d *Draw) Turn(phi float64) (cos, sin Number) {
	t := d.value("turn", Element(math.Float64bits(math.Abs(phi))%P), 0)
	if phi == 0 {
		t = 0
	}
	square := t.mul(t)
	scale := square.add(1).inverse()
	cos = Number{Value: Element(1).sub(square).mul(scale), Real: math.Cos(phi), degree: 1}
	sin = Number{Value: t.add(t).mul(scale), Real: math.Sin(phi), degree: 1}
	if phi < 0 {
		sin.Value = sin.Value.neg()
	}
	return cos, sin
}
