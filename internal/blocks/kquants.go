package blocks

// scales returns the scales s and t of the numbers 32i … 32i+31 of a Q4_K or Q5_K block. Its 12 bytes hold eight pairs
// of 6 bits: the first four s in the lower 6 bits of bytes 0 … 3 and the first four t in the lower 6 bits of bytes 4 …
// 7. Of the others, bytes 8 … 11 hold the lower four bits, s below t, and the upper bits of bytes 0 … 7 the upper two.
func scales(b []byte, i int) (s, t float32) {
	if i < 4 {
		return float32(b[i] & 63), float32(b[i+4] & 63)
	}
	return float32(b[i+4]&15 | b[i-4]>>6<<4), float32(b[i+4]>>4 | b[i]>>6<<4)
}

// decodeQ4_K: d, m, 12 bytes of scales, and 128 bytes. Bytes 32c … 32c+31 hold the numbers 64c … 64c+31 in their lower
// halves, and the 32 numbers after them in the upper ones.
func decodeQ4_K(x []float32, b []byte) {
	d, m, packed, ns := half(b), half(b[2:]), b[4:16], b[16:144]
	for c := range 8 {
		s, t := scales(packed, c)
		s, t = float32(d*s), float32(m*t)
		for i, n := range ns[c/2*32:][:32] {
			x[32*c+i] = float32(s*float32(n>>(c%2*4)&15)) - t
		}
	}
}

// decodeQ5_K: as Q4_K, with 32 bytes of fifth bits before the 128: bit c of byte i belongs to the number 32c+i.
func decodeQ5_K(x []float32, b []byte) {
	d, m, packed, fifth, ns := half(b), half(b[2:]), b[4:16], b[16:48], b[48:176]
	for c := range 8 {
		s, t := scales(packed, c)
		s, t = float32(d*s), float32(m*t)
		for i, n := range ns[c/2*32:][:32] {
			x[32*c+i] = float32(s*float32(n>>(c%2*4)&15|fifth[i]>>c&1<<4)) - t
		}
	}
}

// decodeQ6_K: 128 bytes of lower halves, 64 of upper two bits, 16 signed scales, and d. Each half of the block has 128
// numbers: number 32c+i of it has its lower four bits in byte 32·(c mod 2)+i, the upper half of the byte if c ≥ 2, and
// its upper two bits at bit 2c of byte i.
func decodeQ6_K(x []float32, b []byte) {
	d := half(b[208:])
	for side := range 2 {
		low, high, s := b[64*side:][:64], b[128+32*side:][:32], b[192+8*side:][:8]
		for c := range 4 {
			for i := range 32 {
				n := low[c%2*32+i]>>(c/2*4)&15 | high[i]>>(2*c)&3<<4
				x[128*side+32*c+i] = d * float32(int8(s[2*c+i/16])) * float32(int(n)-32)
			}
		}
	}
}
