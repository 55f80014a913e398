//go:build arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x

package fma

// On these processors the compiler fuses a product and a sum into one instruction. The language permits this and does
// not require it, so the tests run on every one of them. With GOAMD64=v3 it fuses only some.

// Number is the type to which Product takes its operands converted.
type Number = float32

// Float32 returns x·y + z, rounded once.
func Float32(x, y, z float32) float32 { return x*y + z }

// Lanes computes to = x∘y + z, each entry rounded once.
func Lanes(to, x, y, z *[Block]float32) {
	for i, v := range x {
		to[i] = v*y[i] + z[i]
	}
}

// Scaled adds x·y to sum, each entry rounded once.
func Scaled(sum *[Block]float32, x float32, y *[Block]float32) {
	for i, v := range y {
		sum[i] = x*v + sum[i]
	}
}

// Negated computes to = −x∘y + z, each entry rounded once.
func Negated(to, x, y, z *[Block]float32) {
	for i, v := range x {
		to[i] = -v*y[i] + z[i]
	}
}

// product is Product.
func product(c *[Tile][Tile]float32, a, b *Panel) (sure bool) {
	for i := range c {
		var c0, c1, c2, c3 float32
		for l := 0; l+Tile <= len(a.numbers) && l+Tile <= len(b.numbers); l += Tile {
			x, y := a.numbers[l+i], b.numbers[l:l+Tile:l+Tile]
			c0, c1, c2, c3 = x*y[0]+c0, x*y[1]+c1, x*y[2]+c2, x*y[3]+c3
		}
		c[i] = [Tile]float32{c0, c1, c2, c3}
	}
	return true
}
