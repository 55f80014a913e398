package safetensors

import (
	"encoding/binary"
	"math"

	"github.com/pkg/errors"
)

// Read reads a whole file and returns its tensors in the order of their values, and the metadata, nil if there is none.
//
// F32 and F64 are kept, F16 and BF16 become float32, which holds each of their values exactly. Integers and booleans
// are returned without values (see Tensor); every other type is an error. So is anything that the format does not
// allow: unknown, missing or repeated keys, repeated or empty names, text that is not valid UTF-8, values that overlap,
// leave holes or do not fill the file. White space around the JSON is allowed.
func Read(data []byte) ([]Tensor, map[string]string, error) {
	if len(data) < 8 {
		return nil, nil, errors.Errorf("safetensors: got %d bytes, want at least 8", len(data))
	}
	n, rest := binary.LittleEndian.Uint64(data), data[8:]
	if n > maxHeader {
		return nil, nil, errors.Errorf("safetensors: header of %d bytes, the limit is %d", n, maxHeader)
	}
	if n > uint64(len(rest)) {
		return nil, nil, errors.Errorf("safetensors: header of %d bytes, but only %d follow", n, len(rest))
	}
	entries, metadata, err := parseHeader(rest[:n])
	if err != nil {
		return nil, nil, errors.Wrap(err, "safetensors")
	}
	values := rest[n:]
	if err := checkLayout(entries, len(values)); err != nil {
		return nil, nil, errors.Wrap(err, "safetensors")
	}
	tensors := make([]Tensor, len(entries))
	for i, e := range entries {
		if tensors[i], err = decode(e, values[e.begin:e.end]); err != nil {
			return nil, nil, errors.Wrapf(err, "safetensors: tensor %q", e.name)
		}
	}
	return tensors, metadata, nil
}

// decode makes the tensor of an entry out of its bytes.
func decode(e entry, raw []byte) (Tensor, error) {
	t := Tensor{Name: e.name, Shape: e.shape}
	var err error
	switch n := len(raw) / width(e.dtype); e.dtype {
	case "F64":
		t.F64 = make([]float64, n)
		_, err = binary.Decode(raw, binary.LittleEndian, t.F64)
	case "F32":
		t.F32 = make([]float32, n)
		_, err = binary.Decode(raw, binary.LittleEndian, t.F32)
	case "F16":
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = float16(binary.LittleEndian.Uint16(raw[2*i:]))
		}
	case "BF16": // the upper half of a float32
		t.F32 = make([]float32, n)
		for i := range t.F32 {
			t.F32[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(raw[2*i:])) << 16)
		}
	}
	return t, err
}

// float16 is the value of an IEEE 754 binary16: sign, 5 bits of exponent with bias 15, 10 bits of fraction.
func float16(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, fraction := uint32(h>>10&31), uint32(h&1023)
	switch exponent {
	case 0: // zero and subnormal numbers: fraction · 2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
