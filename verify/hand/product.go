package hand

// few is the number of multiplications below which computing all of them is faster than looking for zeros.
const few = 1 << 12

// product returns xy, row by row, for x (rows, inner) and y (inner, cols). In the complex step most matrices are real:
// those that do not depend on the stepped parameter, such as nearly every weight. Products with imaginary parts that
// are all zero are left out, which changes no bit of the sums. In small matrices nothing is left out.
func product[T Number](x, y []T, rows, inner, cols int) []T {
	if rows*inner*cols < few {
		return sums(x, y, rows, inner, cols)
	}
	xr, xi := planes(x)
	yr, yi := planes(y)
	switch {
	case xi == nil && yi == nil:
		return joined[T](sums(xr, yr, rows, inner, cols), nil)
	case yi == nil:
		return joined[T](sums(xr, yr, rows, inner, cols), sums(xi, yr, rows, inner, cols))
	case xi == nil:
		return joined[T](sums(xr, yr, rows, inner, cols), sums(xr, yi, rows, inner, cols))
	}
	return sums(x, y, rows, inner, cols)
}

// sums returns Σ_k x_ik y_kj in the order of k, four of them in one pass over a row.
func sums[T Number](x, y []T, rows, inner, cols int) []T {
	out := make([]T, rows*cols)
	for i := range rows {
		row, a := out[i*cols:][:cols], x[i*inner:][:inner]
		k := 0
		for ; k+4 <= inner; k += 4 {
			a0, a1, a2, a3 := a[k], a[k+1], a[k+2], a[k+3]
			four := y[k*cols:][:4*cols]
			y0, y1, y2, y3 := four[:cols], four[cols:][:cols], four[2*cols:][:cols], four[3*cols:][:cols]
			for j, sum := range row {
				row[j] = sum + a0*y0[j] + a1*y1[j] + a2*y2[j] + a3*y3[j]
			}
		}
		for ; k < inner; k++ {
			for j, b := range y[k*cols:][:cols] {
				row[j] += a[k] * b
			}
		}
	}
	return out
}

// planes returns the real and the imaginary parts; the second is nil if all of them are 0.
func planes[T Number](x []T) (re, im []float64) {
	z, ok := any(x).([]complex128)
	if !ok {
		return any(x).([]float64), nil
	}
	re = make([]float64, len(z))
	isReal := true
	for i, v := range z {
		re[i] = real(v)
		isReal = isReal && imag(v) == 0
	}
	if isReal {
		return re, nil
	}
	im = make([]float64, len(z))
	for i, v := range z {
		im[i] = imag(v)
	}
	return re, im
}

// joined is the inverse of planes.
func joined[T Number](re, im []float64) []T {
	out, ok := any(re).([]T)
	if ok {
		return out
	}
	out = make([]T, len(re))
	z := any(out).([]complex128)
	for i, v := range re {
		if z[i] = complex(v, 0); im != nil {
			z[i] = complex(v, im[i])
		}
	}
	return out
}
