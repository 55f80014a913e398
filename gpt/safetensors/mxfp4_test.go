package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// bytesFile returns a file of tensors of bytes with these names and shapes.
func bytesFile(t *testing.T, contents map[string][]byte, header string) *File {
	t.Helper()
	var data []byte
	for _, name := range strings.Fields("x_blocks x_scales y_blocks z_blocks z_scales") {
		content, ok := contents[name]
		if ok {
			header = strings.Replace(header, "@"+name, fmt.Sprintf("[%d, %d]", len(data), len(data)+len(content)), 1)
			data = append(data, content...)
		}
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	f, err := Open(bytes.NewReader(append(file, data...)), int64(len(file)+len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Blocks and scales become one tensor, whose numbers are read in pieces. Other tensors stay.
func TestJoined(t *testing.T) {
	const rows, n = 3, 200 // 19,200 numbers, more than are read at once
	fours, scales := make([]byte, rows*n*16), make([]byte, rows*n)
	for i := range fours {
		fours[i] = byte(i * i)
	}
	for i := range scales {
		scales[i] = byte(120 + i%9)
	}
	f := bytesFile(t, map[string][]byte{
		"x_blocks": fours, "x_scales": scales, "y_blocks": {1}, "z_blocks": {1, 2, 3, 4}, "z_scales": {1, 2, 3, 4},
	},
		`{"x_blocks": {"dtype": "U8", "shape": [3, 200, 16], "data_offsets": @x_blocks},
		"x_scales": {"dtype": "U8", "shape": [3, 200], "data_offsets": @x_scales},
		"y_blocks": {"dtype": "U8", "shape": [1], "data_offsets": @y_blocks},
		"z_blocks": {"dtype": "F32", "shape": [1], "data_offsets": @z_blocks},
		"z_scales": {"dtype": "F32", "shape": [], "data_offsets": @z_scales}}`)
	joined, err := f.Joined()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range joined.Entries {
		names = append(names, e.Name)
	}
	if want := strings.Fields("x y_blocks z_blocks z_scales"); !slices.Equal(names, want) {
		t.Fatalf("got %v, want %v", names, want)
	}
	x := joined.Entries[0]
	if x.DType != mxfp4 || !slices.Equal(x.Shape, []int{3, 6400}) || x.Len() != 19_200 ||
		x.Bytes() != len(fours)+len(scales) {
		t.Errorf("got %s %v of %d numbers in %d bytes", x.DType, x.Shape, x.Len(), x.Bytes())
	}
	var all []float32
	err = joined.Values(x, func(at int, part Tensor) error {
		if at != len(all) {
			t.Errorf("got numbers from %d on, want from %d on", at, len(all))
		}
		all = append(all, part.F32...)
		return nil
	})
	if err != nil || len(all) != 19_200 {
		t.Fatalf("got %d numbers, %v", len(all), err)
	}
	for i, got := range all {
		four := fours[i/2] >> (4 * (i % 2)) & 15
		exponent, fraction := int(four>>1&3), float64(four&1)/2
		size := math.Ldexp(1+fraction, exponent-1)
		if exponent == 0 { // subnormal
			size = fraction
		}
		want := math.Ldexp(size, int(scales[i/32])-127)
		if four > 7 {
			want = -want
		}
		if float64(got) != want {
			t.Fatalf("number %d: got %v, want %v", i, got, want)
		}
	}
	if _, err := (*File)(nil).Joined(); err == nil {
		t.Error("no file has no tensors")
	}
}

// Blocks and scales of other shapes are an error.
func TestJoinedRefuses(t *testing.T) {
	for shape, of := range map[string]string{"[2, 16]": "[1]", "[16, 2]": "[2]", "[32]": "[]", "[2, 1, 16]": "[2]"} {
		n := map[string]int{"[1]": 1, "[]": 1, "[2]": 2}[of]
		f := bytesFile(t, map[string][]byte{"x_blocks": make([]byte, 32), "x_scales": make([]byte, n)},
			`{"x_blocks": {"dtype": "U8", "shape": `+shape+`, "data_offsets": @x_blocks},
			"x_scales": {"dtype": "U8", "shape": `+of+`, "data_offsets": @x_scales}}`)
		_, err := f.Joined()
		if err == nil || !strings.Contains(err.Error(), `tensor "x_blocks": got shape `+
			strings.ReplaceAll(shape, ",", "")) {
			t.Errorf("%s: got error %v", shape, err)
		}
	}
}

// A file that ends within the blocks or the scales is an error when they are read.
func TestJoinedCut(t *testing.T) {
	header := `{"x_blocks": {"dtype": "U8", "shape": [1, 16], "data_offsets": [0, 16]},
		"x_scales": {"dtype": "U8", "shape": [1], "data_offsets": [16, 17]}}`
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	whole := append(slices.Clip(file), make([]byte, 17)...)
	for _, n := range []int{len(file) + 10, len(file) + 16} {
		f, err := Open(bytes.NewReader(whole[:n]), int64(len(whole)))
		if err != nil {
			t.Fatal(err)
		}
		if f, err = f.Joined(); err != nil {
			t.Fatal(err)
		}
		err = f.Values(f.Entries[0], func(int, Tensor) error { return nil })
		if err == nil {
			t.Errorf("%d bytes: the tensor was read", n)
		}
	}
}
