// Package exact computes without rounding: with dual numbers over the finite field of p = 2⁶¹ − 1 elements. There the
// derivative of a formula and the formula of its gradient are equal to the last bit or different. Two expressions that
// differ agree at a random point with a probability of at most their degree divided by p (Schwartz 1980, Zippel 1979).
//
// Functions such as eˣ have no values in a finite field. A Draw gives them random ones, always the same for the same
// argument, and their derivatives follow from their differential equations: (eˣ)' = eˣ holds for any values. The
// chain rule uses nothing else. The package uses the standard library alone.
package exact

import "math/bits"

// P is the number of elements of the field, a Mersenne prime.
const P = 1<<61 - 1

// An Element is a number of the field, 0 … P−1.
type Element uint64

// Of returns n modulo P.
func Of(n int64) Element {
	if n < 0 {
		return Of(-n).neg()
	}
	return Element(uint64(n) % P)
}

func (a Element) add(b Element) Element {
	if a += b; a >= P {
		a -= P
	}
	return a
}

func (a Element) neg() Element {
	if a == 0 {
		return 0
	}
	return P - a
}

func (a Element) sub(b Element) Element { return a.add(b.neg()) }

// mul returns ab. With 2⁶¹ = 1, the bits of the product from 61 on are added to those below.
func (a Element) mul(b Element) Element {
	high, low := bits.Mul64(uint64(a), uint64(b))
	return Element(low & P).add(Element(high<<3 | low>>61))
}

func (a Element) pow(n uint64) Element {
	power := Element(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			power = power.mul(a)
		}
		a = a.mul(a)
	}
	return power
}

// inverse returns 1/a, which is a^(p−2) by Fermat, and 0 for 0.
func (a Element) inverse() Element { return a.pow(P - 2) }

// root returns a^((p+1)/4), whose square is a or, for half of all numbers, −a. Roots multiply: √(ab) = √a √b.
func (a Element) root() Element { return a.pow((P + 1) / 4) }

// mixed returns a number of the field that looks random and depends on the key and on a alone (the finalizer of
// SplitMix64: Steele, Lea and Flood 2014).
func (a Element) mixed(key uint64) Element {
	z := uint64(a)*0x9e3779b97f4a7c15 + key
	for range 2 {
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		z += key
	}
	return 1 + Element(z%(P-1)) // a unit
}
