package safetensors

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every mistake is reported itself, not one of its consequences.
func TestReasonsOfEach(t *testing.T) {
	tensor := func(name, entry string) string { return `{"` + name + `":{` + entry + `}}` }
	byteOf := func(name string, at int) string {
		return fmt.Sprintf(`"%s":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, name, at, at+1)
	}
	for header, want := range map[string]string{
		`{"__metadata__":{},"__metadata__":{}}`:           "__metadata__ appears twice",
		`{"__metadata__":{"a":"\u00zz"}}`:                 "an escape that JSON does not define",
		tensor("", `"dtype":"U8"`):                        "the name is empty",
		tensor(`a\u0000`, `"dtype":"U8"`):                 "the name contains a NUL",
		tensor(`\ud800xudc00`, `"dtype":"U8"`):            "half of a surrogate pair",
		tensor("w", `"x":[0,1],"dtype":"U8","shape":[1]`): `key "x" is unknown`,
		tensor(
			"w", `"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]`,
		): `key "dtype" is unknown or appears twice`,
		tensor("w", `"dtype":"U8","shape":[0]`):                                          "needs dtype, shape and data_offsets",
		tensor("w", `"dtype":"U8","data_offsets":[0,1]`):                                 "needs dtype, shape and data_offsets",
		tensor("w", `"shape":[0],"data_offsets":[0,0]`):                                  "needs dtype, shape and data_offsets",
		tensor("w", `"dtype":"U8","shape":[4611686018427387904,4],"data_offsets":[0,1]`): "overflows",
		tensor("w", `"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]`):     "more than 8 dimensions",
		tensor("w", `"dtype":"U8","shape":[1:],"data_offsets":[0,1]`):                    `got ":", want ","`,
		tensor("w", `"dtype":"U8","shape":[10000000000000000000],"data_offsets":[0,1]`):  "want an unsigned integer",
		tensor("w", `"dtype":"U8","shape":[10000000000000000000`):                        "want an unsigned integer",
		`{"w":{"shape":[12`: `got "\x00", want ","`,
		"{" + byteOf("a", 0) + "," + byteOf("b", 1) + "," + byteOf("a", 2) + "}": `tensor "a" appears twice`,
		"{" + byteOf("c", 0) + "," + byteOf("a", 1) + "," + byteOf("c", 2) + "}": `tensor "c" appears twice`,
		`{"\u1"`: "an escape that JSON does not define",
		tensor("w", `"dtype":"X8","shape":[0],"data_offsets":[0,0]`): `dtype "X8" is not supported`,
	} {
		if _, _, err := Read(slices.Clip(file(header))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", header, err, want)
		}
	}
	if _, _, err := Read([]byte("\x0a\x00\x00\x00\x00\x00\x00\x00{} ")); err == nil ||
		!strings.Contains(err.Error(), "header of 10 bytes, but only 3 follow") {
		t.Errorf("a length beyond the end: got %v", err)
	}
	if _, _, err := Read([]byte("\x01\x00\x80\x00\x00\x00\x00\x00{}")); err == nil ||
		!strings.Contains(err.Error(), "header of 8388609 bytes, the limit is 8388608") {
		t.Errorf("a length beyond the limit: got %v", err)
	}
	if _, _, err := Read(make([]byte, 8)); err == nil || !strings.Contains(err.Error(), `want "{"`) {
		t.Errorf("a length of 0: got %v", err)
	}
}

// Files at the limits can be written and read; one more of anything is refused by both.
func TestLimits(t *testing.T) {
	metadata, tensors := map[string]string{}, make([]Tensor, maxTensors)
	for i := range maxMetadata {
		metadata[fmt.Sprint(i)] = "x"
	}
	for i := range tensors {
		tensors[i] = Tensor{Name: fmt.Sprint("t", i), Shape: []int{0, 1, 1, 1, 1, 1, 1, 1}, F32: []float32{}}
	}
	got, meta, err := Read(encode(t, tensors, metadata))
	if err != nil || len(got) != maxTensors || len(got[0].Shape) != maxRank || len(meta) != maxMetadata {
		t.Errorf("got %d tensors, %d entries, %v", len(got), len(meta), err)
	}
	metadata["more"] = "x"
	if err := Write(new(bytes.Buffer), nil, metadata); err == nil ||
		!strings.Contains(err.Error(), "1001 metadata entries, the limit is 1000") {
		t.Errorf("got %v", err)
	}
	var header strings.Builder
	for k := range metadata {
		fmt.Fprintf(&header, `,"%s":"x"`, k)
	}
	if _, _, err := Read(file(`{"__metadata__":{` + header.String()[1:] + `}}`)); err == nil ||
		!strings.Contains(err.Error(), "more than 1000 metadata entries") {
		t.Errorf("got %v", err)
	}
	header.Reset()
	for i := range maxTensors + 1 {
		fmt.Fprintf(&header, `,"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`, i)
	}
	if _, _, err := Read(file("{" + header.String()[1:] + "}")); err == nil ||
		!strings.Contains(err.Error(), "more than 10000 tensors") {
		t.Errorf("got %v", err)
	}
	if err := Write(new(bytes.Buffer), nil, map[string]string{"\xff": "a"}); err == nil {
		t.Error("accepted a key of the metadata that is not UTF-8")
	}
	long := []Tensor{{Shape: []int{0}, F32: []float32{}}}
	frame := len(`{"":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`)
	long[0].Name = strings.Repeat("n", maxHeader-frame)
	data := encode(t, long, nil)
	if _, _, err := Read(data); err != nil || len(data) != 8+maxHeader {
		t.Errorf("a header of %d bytes: %v", len(data)-8, err)
	}
	long[0].Name += "n"
	if err := Write(new(bytes.Buffer), long, nil); err == nil ||
		!strings.Contains(err.Error(), "the limit is 8388608") {
		t.Errorf("a header longer than the limit: %v", err)
	}
	for n, ok := range map[int]bool{math.MaxInt / 8: true, math.MaxInt/8 + 1: false} {
		if got, err := size([]int{n, 1}); (err == nil) != ok || ok && got != n {
			t.Errorf("size of %d: got %d, %v", n, got, err)
		}
	}
}

// Tensors of one type keep their order, half precision has its values, and a full disk is detected even in the last
// tensor.
func TestOrderAndEnd(t *testing.T) {
	in := []Tensor{
		{Name: "a", Shape: []int{1}, F32: []float32{1}}, {Name: "b", Shape: []int{1}, F64: []float64{2}},
		{Name: "c", Shape: []int{3}, F64: []float64{3, 4, 5}}, {Name: "d", Shape: []int{2}, F32: []float32{6, 7}},
	}
	out, _, err := Read(encode(t, in, nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Tensor{in[1], in[2], in[0], in[3]}, out); diff != "" {
		t.Error(diff)
	}
	for n := range encode(t, in[2:3], nil) {
		if err := Write(&full{n}, in[2:3], nil); err == nil {
			t.Errorf("room for %d bytes: no error", n)
		}
	}
	half, _, err := Read(file(`{"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}`, 0, 0x3c, 0, 0xc0))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float32{1, -2}, half[0].F32); diff != "" {
		t.Error(diff)
	}
}
