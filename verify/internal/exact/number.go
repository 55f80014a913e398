package exact

import "math"

// A Number is a dual number a + bε, with ε² = 0, over the field. Its tangent b is a derivative along some direction.
//
// A Number also carries the dual number that the same formula gives in float64, Real + Rate ε. Comparisons use its
// value, so that maxima, masks and kinks are as for real numbers: constants of the draw. A Real of −∞ is a score that a
// mask hides. Rate is a derivative with rounding.
type Number struct {
	Value, Tangent Element
	Real, Rate     float64

	// A sum of an ordinary number and of logarithms or maxima keeps the exponential of the latter, so that e^(x−m) is
	// eˣ/eᵐ: shift is their value and factor is its exponential. Any other number has a factor of 0.
	shift, factor Element

	// Bounds on the degrees of the value and of the tangent as polynomials in the numbers drawn, where the result of a
	// division or of a function counts as drawn.
	degree, slope float64
}

// Degree returns a bound on the degree of the number as a polynomial in the numbers drawn.
func (a Number) Degree() float64 { return max(a.degree, a.slope) }

// Constant returns a without its tangent.
func (a Number) Constant() Number {
	a.Tangent, a.Rate, a.slope = 0, 0, 0
	return a
}

// Add returns a + b.
func (d *Draw) Add(a, b Number) Number {
	if a.factor|b.factor != 0 {
		return d.shifted(a, b, b.shift, max(b.factor, 1))
	}
	return Number{
		Value: a.Value.add(b.Value), Tangent: a.Tangent.add(b.Tangent),
		Real: a.Real + b.Real, Rate: a.Rate + b.Rate,
		degree: max(a.degree, b.degree), slope: max(a.slope, b.slope),
	}
}

// shifted returns a + b where b has the given shift, and factor as its exponential.
func (d *Draw) shifted(a, b Number, shift, factor Element) Number {
	return Number{
		Value: a.Value.add(b.Value), Tangent: a.Tangent.add(b.Tangent),
		Real: a.Real + b.Real, Rate: a.Rate + b.Rate,
		shift: a.shift.add(shift), factor: max(a.factor, 1).mul(factor),
		degree: max(a.degree, b.degree), slope: max(a.slope, b.slope),
	}
}

// Sub returns a − b.
func (d *Draw) Sub(a, b Number) Number {
	minus := Number{
		Value: b.Value.neg(), Tangent: b.Tangent.neg(), Real: -b.Real, Rate: -b.Rate,
		degree: b.degree, slope: b.slope,
	}
	if a.factor|b.factor != 0 {
		return d.shifted(a, minus, b.shift.neg(), d.inverse(max(b.factor, 1), 1))
	}
	return d.Add(a, minus)
}

// Mul returns ab, whose tangent is a'b + ab'.
func (d *Draw) Mul(a, b Number) Number {
	return Number{
		Value:   a.Value.mul(b.Value),
		Tangent: a.Tangent.mul(b.Value).add(a.Value.mul(b.Tangent)),
		Real:    a.Real * b.Real,
		Rate:    a.Rate*b.Real + a.Real*b.Rate,
		degree:  a.degree + b.degree, slope: max(a.slope+b.degree, a.degree+b.slope),
	}
}

// Div returns a/b, whose tangent is (a' − (a/b)b')/b. A divisor of 0 gives a Number whose Real is not a number.
func (d *Draw) Div(a, b Number) Number {
	inverse := d.inverse(b.Value, b.degree)
	value := a.Value.mul(inverse)
	out := Number{
		Value:   value,
		Tangent: a.Tangent.sub(value.mul(b.Tangent)).mul(inverse),
		Real:    a.Real / b.Real,
		Rate:    (a.Rate - a.Real/b.Real*b.Rate) / b.Real,
		degree:  a.degree + 1, slope: max(a.slope+1, a.degree+2+b.slope),
	}
	if b.Value == 0 {
		out.Real = math.NaN()
	}
	return out
}

// Less reports whether a is smaller than b as a real number.
func Less(a, b Number) bool { return a.Real < b.Real }

// Derivative returns the tangent of a as a value.
func (a Number) Derivative() Number { return Number{Value: a.Tangent, Real: a.Rate, degree: a.slope} }

// Product returns the matrix product of xs (rows, inner) and ys (inner, cols), row by row.
func Product(xs, ys []Number, rows, inner, cols int) []Number {
	out := make([]Number, rows*cols)
	for i := range rows {
		row := out[i*cols:][:cols]
		for k, a := range xs[i*inner:][:inner] {
			if a.Value|a.Tangent == 0 && a.Real == 0 && a.Rate == 0 {
				continue
			}
			for j := range row {
				b, sum := &ys[k*cols+j], &row[j]
				sum.Value = sum.Value.add(a.Value.mul(b.Value))
				sum.Real += a.Real * b.Real
				sum.degree = max(sum.degree, a.degree+b.degree)
				if a.slope > 0 || b.slope > 0 {
					sum.Tangent = sum.Tangent.add(a.Tangent.mul(b.Value)).add(a.Value.mul(b.Tangent))
					sum.Rate += a.Rate*b.Real + a.Real*b.Rate
					sum.slope = max(sum.slope, a.slope+b.degree, a.degree+b.slope)
				}
			}
		}
	}
	return out
}
