package safetensors

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/pkg/errors"
)

// A float32 is rounded to the nearest BF16, of two equally near to the even one; a number beyond the largest is an
// error.
func TestBF16(t *testing.T) {
	from := func(bits uint32) float32 { return math.Float32frombits(bits) }
	cases := map[float32]float32{
		0: 0, 1: 1, -2.5: -2.5, from(0x3f80_7fff): 1, from(0x3f80_8000): 1, from(0x3f80_8001): from(0x3f81_0000),
		from(0x3f81_7fff): from(0x3f81_0000), from(0x3f81_8000): from(0x3f82_0000),
		from(0xbf81_8000): from(0xbf82_0000),
		from(0x3f7f_ffff): 1, from(0x7f7f_7fff): from(0x7f7f_0000), from(1): 0, from(0x0000_ffff): from(0x0001_0000),
	}
	var values, want []float32
	for x, y := range cases {
		values, want = append(values, x), append(want, y)
	}
	write := func(dtype string, shape int, values Tensor) ([]byte, error) {
		var b bytes.Buffer
		err := WriteEach(
			&b, []Entry{{Name: "x", Shape: []int{shape}, DType: dtype}}, nil,
			func(int) (Tensor, error) { return values, nil },
		)
		return b.Bytes(), err
	}
	data, err := write(BF16, len(values), Tensor{F32: values})
	if err != nil {
		t.Fatal(err)
	}
	list, _, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range list[0].F32 {
		if got != want[i] {
			t.Errorf(
				"%x: got %x, want %x", math.Float32bits(values[i]), math.Float32bits(got), math.Float32bits(want[i]),
			)
		}
	}
	for _, x := range []float32{from(0x7f7f_8000), -math.MaxFloat32} {
		if _, err := write(BF16, 1, Tensor{F32: []float32{x}}); err == nil ||
			!strings.Contains(err.Error(), `tensor "x": `) {
			t.Errorf("%g: got error %v", x, err)
		}
	}
	data, err = write(BF16, 2, Tensor{F32: []float32{float32(math.Inf(-1)), float32(math.NaN())}})
	if err != nil {
		t.Fatal(err)
	}
	if list, _, err = Read(data); err != nil || !math.IsInf(float64(list[0].F32[0]), -1) ||
		list[0].F32[1] == list[0].F32[1] {
		t.Errorf("an infinity and NaN: got %v, %v", list[0].F32, err)
	}
	one := []float32{1}
	for want, err := range map[string]error{
		"dtype: got \"F16\", want F32, F64 or BF16": second(write("F16", 1, Tensor{F32: one})),
		"got 1 values, want 2":                      second(write(BF16, 2, Tensor{F32: one})),
		"needs either":                              second(write(BF16, 1, Tensor{F64: []float64{1}})),
		"needs either F32":                          second(write(F32, 1, Tensor{F64: []float64{1}})),
		"either F32 or F64":                         second(write(F64, 1, Tensor{F32: one})),
		"F32 or F64":                                second(write(F32, 1, Tensor{F32: one, F64: []float64{1}})),
		"the values are gone": WriteEach(new(bytes.Buffer), []Entry{{Name: "x", Shape: []int{1}, DType: F32}}, nil,
			func(int) (Tensor, error) { return Tensor{}, errors.New("the values are gone") }),
		"the function that returns the values is nil": WriteEach(new(bytes.Buffer), nil, nil, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

func second(_ []byte, err error) error { return err }
