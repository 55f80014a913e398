package blocks

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
)

// put returns bytes that begin with the given binary16 numbers.
func put(numbers ...float32) (b []byte) {
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint16(b, ToHalf(x))
	}
	return b
}

// at compares some numbers of a block with those computed by hand.
func at(t *testing.T, of Type, block []byte, want map[int]float32) {
	t.Helper()
	n, _ := of.Block()
	x := make([]float32, n)
	if err := of.Decode(x, block); err != nil {
		t.Fatal(err)
	}
	for i, want := range want {
		if x[i] != want {
			t.Errorf("%s: number %d: got %v, want %v", of, i, x[i], want)
		}
	}
}

// The blocks of 32 numbers, by hand: d = 0.5, m = −2, byte i holds n = i mod 16 below and 15 − i above.
func TestBlocksOf32(t *testing.T) {
	var halves []byte
	for i := range byte(16) {
		halves = append(halves, i|(15-i)<<4)
	}
	fifth := binary.LittleEndian.AppendUint32(nil, 1<<2|1<<16|1<<31)
	at(t, Q4_0, slices.Concat(put(0.5), halves), map[int]float32{0: -4, 3: -2.5, 15: 3.5, 16: 3.5, 19: 2, 31: -4})
	at(t, Q4_1, slices.Concat(put(0.5, -2), halves), map[int]float32{0: -2, 3: -0.5, 15: 5.5, 16: 5.5, 31: -2})
	at(t, Q5_0, slices.Concat(put(0.5), fifth, halves), map[int]float32{0: -8, 2: 1, 3: -6.5, 16: 7.5, 17: -1, 31: 0})
	at(
		t, Q5_1, slices.Concat(put(0.5, -2), fifth, halves),
		map[int]float32{0: -2, 2: 7, 3: -0.5, 16: 13.5, 17: 5, 31: 6},
	)
	eighths := make([]byte, 32)
	eighths[0], eighths[7], eighths[31] = 127, 0x80, 0xff
	at(t, Q8_0, slices.Concat(put(0.25), eighths), map[int]float32{0: 31.75, 1: 0, 7: -32, 31: -0.25})
	at(t, F16, put(-1.5), map[int]float32{0: -1.5})
	at(t, BF16, []byte{0xc0, 0xbf}, map[int]float32{0: -1.5})
	at(t, F32, []byte{0, 0, 0xc0, 0xbf}, map[int]float32{0: -1.5})
}

// The blocks of 256 numbers, by hand.
func TestBlocksOf256(t *testing.T) {
	// s = 1, 2, 3, 63 and t = 4, 5, 6, 7 of the first four; s = 0x2a, t = 0x15 of the fifth, s = 0x31, t = 0x3f of the
	// last: their lower halves are in bytes 8 and 11, their upper two bits in bytes 0 and 4, and 3 and 7.
	packed := []byte{1 | 2<<6, 2, 3, 63 | 3<<6, 4 | 1<<6, 5, 6, 7 | 3<<6, 0xa | 5<<4, 0, 0, 0x1 | 0xf<<4}
	ns := make([]byte, 128)
	ns[0], ns[5], ns[32+1], ns[64], ns[96+31] = 0x73, 0x0f, 0x20, 0x94, 0xe0
	at(t, Q4_K, slices.Concat(put(0.5, 0.25), packed, ns), map[int]float32{
		0: 0.5*1*3 - 1, 5: 0.5*1*15 - 1, 1: -1, 32: 0.5*2*7 - 1.25, 64 + 1: -1.5, 96 + 1: 0.5*63*2 - 1.75,
		128: 0.5*0x2a*4 - 0.25*0x15, 129: -0.25 * 0x15, 224 + 31: 0.5*0x31*14 - 0.25*0x3f, 224: -0.25 * 0x3f,
	})
	fifth := make([]byte, 32)
	fifth[0], fifth[31] = 1<<0|1<<4, 1<<7
	at(t, Q5_K, slices.Concat(put(0.5, 0.25), packed, fifth, ns), map[int]float32{
		0: 0.5*1*19 - 1, 5: 0.5*1*15 - 1, 32: 0.5*2*7 - 1.25, 128: 0.5*0x2a*20 - 0.25*0x15,
		224 + 31: 0.5*0x31*30 - 0.25*0x3f,
	})
	low, high, s := make([]byte, 128), make([]byte, 64), make([]byte, 16)
	low[0], low[33], low[64+31] = 0xa5, 0x7c, 0xf1
	high[0], high[1], high[32+31] = 2|1<<4, 3<<2|1<<6, 3<<4
	s[0], s[2], s[4], s[6], s[9], s[12] = 3, 0xfe, 5, 7, 2, 1
	s[13] = 0x80
	at(t, Q6_K, slices.Concat(low, high, s, put(0.5)), map[int]float32{
		0:             0.5 * 3 * (0x25 - 32),    // lower half of byte 0, bits 0 of high 0
		64:            0.5 * 5 * (0x1a - 32),    // upper half of byte 0, bits 4 of high 0
		33:            0.5 * -2 * (0x3c - 32),   // lower half of byte 33, bits 2 of high 1
		97:            0.5 * 7 * (0x17 - 32),    // upper half of byte 33, bits 6 of high 1
		128 + 31:      0.5 * 2 * (0x01 - 32),    // the second half
		128 + 64:      0.5 * 1 * (0 - 32),       // scale 12
		128 + 64 + 31: 0.5 * -128 * (0x3f - 32), // scale 13
	})
}

// binary16 and bfloat16 are rounded to the nearest, ties to the even number; every binary16 is read and written back.
func TestHalves(t *testing.T) {
	for h := range 1 << 16 {
		if x := Half(uint16(h)); x != x {
			if back := ToHalf(x); back&0x7fff <= 0x7c00 {
				t.Errorf("%#04x: got %#04x, want NaN", h, back)
			}
		} else if back := ToHalf(x); back != uint16(h) {
			t.Errorf("%#04x is %v: got %#04x back", h, x, back)
		}
	}
	for x, want := range map[float32]float32{
		1 + 0x1p-11: 1, 1 + 3*0x1p-11: 1 + 0x1p-9, 1 + 0x1p-11 + 0x1p-20: 1 + 0x1p-10, 65519: 65504, 0x1p-25: 0,
		0x1.8p-24: 0x1p-23, 0x1.1p-25: 0x1p-24, 2047.5 * 0x1p-25: 0x1p-14,
	} {
		if got := Half(ToHalf(x)); got != want {
			t.Errorf("binary16 of %v: got %v, want %v", x, got, want)
		}
	}
	for x, want := range map[float32]uint16{1: 0x3f80, 1 + 0x1p-8: 0x3f80, 1 + 3*0x1p-8: 0x3f82, -1 - 0x1p-7: 0xbf81} {
		if got := ToBF16(x); got != want {
			t.Errorf("bfloat16 of %v: got %#04x, want %#04x", x, got, want)
		}
	}
	if ToBF16(float32(math.NaN()))&0x7f == 0 || ToBF16(math.Float32frombits(0x7f800001))&0x7f == 0 {
		t.Error("a NaN became ∞")
	}
}

// The largest number of a block keeps its scale, and blocks of zeros stay zeros.
func TestEncodeExactly(t *testing.T) {
	x := make([]float32, 32)
	for i := range x {
		x[i] = float32(i%15-7) * 0.5
	}
	x[3] = -4
	for of, scale := range map[Type]float32{Q4_0: 0.5, Q8_0: 4.0 / 127} {
		data, err := of.Encode(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 32)
		if err := of.Decode(got, data); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if d := math.Abs(float64(got[i] - x[i])); of == Q4_0 && d != 0 || !(d <= float64(scale)) {
				t.Errorf("%s: number %d: got %v, want %v", of, i, got[i], x[i])
			}
		}
		if data, err = of.Encode(nil, make([]float32, 32)); err != nil || of.Decode(got, data) != nil ||
			slices.Max(got) != 0 || slices.Min(got) != 0 {
			t.Errorf("%s of zeros: got %v, %v", of, got, err)
		}
	}
}

// Lengths that do not fit are errors.
func TestRefuses(t *testing.T) {
	for want, err := range map[string]error{
		"type: got 5, want one of F32, F16": Type(5).Decode(nil, nil),
		"Q4_0: got 31 numbers":              Q4_0.Decode(make([]float32, 31), nil),
		"Q4_0: got 17 bytes, want 18":       Q4_0.Decode(make([]float32, 32), make([]byte, 17)),
		"type: got Q6_K, want one of":       second(Q6_K.Encode(nil, make([]float32, 256))),
		"Q6_K: got 8 numbers":               second(Q6_K.Encode(nil, make([]float32, 8))),
		"F32: number 0 of [NaN]":            second(F32.Encode(nil, []float32{float32(math.NaN())})),
		"Q8_0: got -32 numbers":             second(Q8_0.Bytes(-32)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	if Type(5).String() != "an unknown type" {
		t.Errorf("got %s", Type(5))
	}
}

func second[T any](_ T, err error) error { return err }

// The numbers of MXFP4 by hand: 2^(e−127) times numbers of 4 bits. In a GGUF file they are in halves of the block, and
// in a safetensors file they are adjacent.
func TestFourBits(t *testing.T) {
	block := make([]byte, 17)
	block[0] = 130 // 8
	for i := range byte(16) {
		block[1+i] = i | (15-i)<<4
	}
	at(
		t, MXFP4, block,
		map[int]float32{
			0: 0, 1: 4, 2: 8, 3: 12, 4: 16, 5: 24, 6: 32, 7: 48, 9: -4, 15: -48, 16: -48, 23: 0, 30: 4, 31: 0,
		},
	)
	x := make([]float32, 32)
	FourBits(x, block[1:], Power(126))
	for i, want := range map[int]float32{0: 0, 1: -3, 2: 0.25, 3: -2, 14: 3, 15: 0, 30: -3, 31: 0} {
		if x[i] != want {
			t.Errorf("number %d: got %v, want %v", i, x[i], want)
		}
	}
	if math.Float32bits(x[16]) != 1<<31 {
		t.Errorf("got %v, want −0", x[16])
	}
	for e, want := range map[byte]float64{0: 0x1p-127, 1: 0x1p-126, 127: 1, 254: 0x1p127} {
		if got := float64(Power(e)); got != want {
			t.Errorf("%d: got %v, want %v", e, got, want)
		}
	}
	if got := float64(Power(255)); !math.IsNaN(got) {
		t.Errorf("255: got %v, want NaN", got)
	}
}
