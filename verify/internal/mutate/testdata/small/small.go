// Package small is mutated by the tests of mutate.
package small

import (
	"errors"
	"fmt"
)

// Vector has methods that return their own type.
type Vector []float64

func (x Vector) Sub(y Vector) Vector { return x.zip(y, func(a, b float64) float64 { return a - b }) }

func (x Vector) Add(y Vector) Vector { return x.zip(y, func(a, b float64) float64 { return a + b }) }

func (x Vector) zip(y Vector, f func(a, b float64) float64) Vector {
	out := make(Vector, 0, len(x))
	for i := range x {
		out = append(out, f(x[i], y[i]))
	}
	return out
}

// Square is a square matrix.
type Square [2][2]int

func (Square) Transpose() Square { return Square{} }

func (m Square) MatMul(Square) Square { return m }

// String is text for people.
func (Square) String() string { return fmt.Sprint(1 + len("2")) }

func product(a, b Square) Square { return a.MatMul(b) }

func difference(a, b, c Vector) Vector { return a.Sub(b).Add(c) }

// sum returns the sum of the numbers below a limit.
func sum[T int | float64](xs []T, limit T) (total T) {
	for i := 0; i < len(xs); i++ {
		if xs[i] < limit {
			total += xs[i]
		}
	}
	return total
}

// power returns the largest power of two up to n. The loop never ends if the multiplication is dropped.
func power(n int) int {
	p := 1
	for p*2 <= n {
		p *= 2
	}
	return p
}

// clamp returns max(n, 0). At 0 both branches agree.
func clamp(n int) int {
	if n < 0 {
		return 0
	}
	return n
}

func check(n, _ int, on bool) error {
	half := n / 2
	if n < 0 && on {
		panic(fmt.Sprintf("%d of %d", n+1, 2))
	}
	switch {
	case half > 3:
		return errors.New("too " + "large")
	}
	switch n {
	case 1, 2:
		return nil
	}
	return check(-n, 0, !true)
}

func middle(xs []int, from, to int) []int {
	_, _ = xs[from+1:], xs[to-1] // the mutants may check less
	return xs[from : to-from]
}

func positive(n int) (int, error) {
	if err := check(n, 0, true); err != nil {
		return 0, err
	}
	return 1, nil
}

// largest is computed when the program begins, even if it only lists its tests.
var largest = power(100)
