package jinja

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// binary returns a op b. For "or" and "and" it is b, because the parser has looked at a.
func (f *frame) binary(op string, a, b any) any {
	f.step()
	text, isText := a.(Text)
	left, isList := listOf(a)
	switch n, whole := b.(int); {
	case op == "or" || op == "and":
		return b
	case op == "*" && whole && (isText || isList):
		n = max(n, 0)
		f.each(n, 16*max(1, len(left), len(text.S)/8+8))
		if isText {
			return Text{strings.Repeat(text.S, n), strings.Repeat(text.By, n), text.safe}
		}
		list := make([]any, 0, n*len(left))
		for range n {
			list = append(list, left...)
		}
		return asTuple(a, list)
	case op == "+" && isText:
		if t, ok := b.(Text); ok {
			return f.concat([]Text{text, t})
		}
	case op == "+" && isList:
		if right, ok := listOf(b); ok && typeOf(a) == typeOf(b) {
			f.each(len(left)+len(right), 16)
			return asTuple(a, append(append([]any{}, left...), right...))
		}
	case op == "%" && isText:
		list, ok := b.(tuple)
		if !ok {
			list = tuple{b}
		}
		return f.printf(text, list)
	}
	if x, ok := wholeOf(a); ok {
		if y, ok := wholeOf(b); ok && op != "/" && (op != "**" || y >= 0) {
			return integers(op, x, y)
		}
	}
	x, ok := numeric(a)
	y, both := numeric(b)
	if !ok || !both {
		panic(failure("cannot compute %s %s %s", typeOf(a), op, typeOf(b)))
	}
	return floats(op, x, y)
}

// integers computes with whole numbers of 64 bits.
func integers(op string, x, y int) int {
	z, fits := 0, true
	switch op {
	case "+":
		z = x + y
		fits = (z > x) == (y > 0)
	case "-":
		z = x - y
		fits = (z < x) == (y > 0)
	case "*":
		z, fits = product(x, y)
	case "**":
		for z = 1; y > 0 && fits; y >>= 1 {
			if y&1 > 0 {
				z, fits = product(z, x)
			}
			if square, ok := product(x, x); ok {
				x = square
			} else if y > 1 {
				fits = false
			}
		}
	default:
		if y == 0 {
			panic(failure("cannot compute %d %s 0", x, op))
		}
		quotient, rest := x/y, x%y
		if rest != 0 && (rest < 0) != (y < 0) {
			quotient, rest = quotient-1, rest+y
		}
		if op == "%" {
			return rest
		}
		z, fits = quotient, x != math.MinInt || y != -1
	}
	if !fits {
		panic(failure("%s has a result of more than 64 bits", op))
	}
	return z
}

func product(x, y int) (int, bool) {
	high, low := bits.Mul64(magnitude(x), magnitude(y))
	if negative := (x < 0) != (y < 0); negative {
		return -int(low), high == 0 && low <= 1<<63
	}
	return int(low), high == 0 && low < 1<<63
}

func magnitude(x int) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func floats(op string, x, y float64) float64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "**":
		z := math.Pow(x, y)
		if math.IsNaN(z) && !math.IsNaN(x+y) || math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
			panic(failure("cannot compute %v ** %v", x, y))
		}
		return z
	}
	if y == 0 {
		panic(failure("cannot compute %v %s 0", x, op))
	}
	switch op {
	case "/":
		return x / y
	case "//":
		return math.Floor(x / y)
	}
	rest := math.Mod(x, y)
	if rest != 0 && (rest < 0) != (y < 0) {
		rest += y
	}
	return rest
}

func numeric(v any) (x float64, ok bool) {
	if n, ok := wholeOf(v); ok {
		return float64(n), true
	}
	x, ok = v.(float64)
	return x, ok
}

// wholeOf returns a whole number or a truth value as a number.
func wholeOf(v any) (n int, ok bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case bool:
		if v {
			n = 1
		}
		return n, true
	}
	return 0, false
}

// repr returns a number as Python's repr does: in the fewest digits, with an exponent below 10⁻⁴ and from 10¹⁶.
func repr(x float64) string {
	switch size := math.Abs(x); {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
	case size != 0 && size < 1e-4 || size >= 1e16:
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
