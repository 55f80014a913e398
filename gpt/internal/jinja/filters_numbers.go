package jinja

import (
	"math"
	"strconv"
	"strings"
)

// toInt returns a whole number, or else the default.
func toInt(f *frame, v any, a args) any {
	base := a.whole(1, 10)
	if base != 0 && (base < 2 || base > 36) {
		panic(failure("base: got %d, want 0 or 2 to 36", base))
	}
	if t, ok := v.(Text); ok {
		f.each(len(t.S), 4)
		s := strings.ReplaceAll(strings.TrimFunc(t.S, isSpace), "_", "")
		if n, err := strconv.ParseInt(s, base, 64); err == nil {
			return int(n)
		}
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			v = x
		}
	}
	if n, ok := wholeOf(v); ok {
		return n
	}
	if x, ok := v.(float64); ok && math.Abs(x) < 1<<63 {
		return int(x)
	}
	if a.given(0) {
		return a.at[0]
	}
	return 0
}

// toFloat returns a number, or else the default.
func toFloat(f *frame, v any, a args) any {
	if t, ok := v.(Text); ok {
		f.each(len(t.S), 4)
		if x, err := strconv.ParseFloat(strings.TrimFunc(t.S, isSpace), 64); err == nil {
			return x
		}
	}
	if x, ok := numeric(v); ok {
		return x
	}
	if a.given(0) {
		return a.at[0]
	}
	return 0.0
}

// rounded returns a number with precision digits after the point.
func rounded(_ *frame, v any, a args) any {
	digits, how := a.whole(0, 0), a.text(1, "common").S
	x, ok := numeric(v)
	switch {
	case digits < -300 || digits > 300:
		panic(failure("got a precision of %d, want -300 to 300", digits))
	case !ok:
		panic(failure("got %s, want a number", typeOf(v)))
	}
	n, whole := wholeOf(v)
	scale := math.Pow10(digits)
	switch {
	case how == "ceil":
		return math.Ceil(x*scale) / scale
	case how == "floor":
		return math.Floor(x*scale) / scale
	case how != "common":
		panic(failure("method: got %.32q, want common, ceil or floor", how))
	case whole && digits >= 0:
		return n
	case whole:
		return int(math.RoundToEven(x*scale) / scale)
	case digits < 0:
		return math.RoundToEven(x*scale) / scale
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', digits, 64), 64)
	return x
}
