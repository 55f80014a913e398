package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sampleKeys returns a key of every kind that can be written.
func sampleKeys() []Key {
	return []Key{
		{"general.architecture", OfText("llama")}, {"llama.block_count", OfInt(3)}, {"llama.epsilon", OfFloat(1e-5)},
		{"flag", OfBool(true)}, {"tokens", OfStrings([]string{"a", "", "é▁"})}, {"types", OfInts([]int{1, -3, 6})},
		{"scores", OfFloats([]float32{0, -1.5})}, {"none", OfStrings(nil)}, {alignmentKey, OfInt(64)},
	}
}

func sampleEntries() []Entry {
	return []Entry{
		{"f32", []int{3, 5}, F32}, {"q8", []int{3, 64}, Q8_0}, {"half", []int{7}, F16}, {"q4", []int{2, 3, 32}, Q4_0},
		{"bf", []int{1, 9}, BF16},
	}
}

// numbers returns numbers of different sizes.
func numbers(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(12)-6)))
	}
	return x
}

func encode(t testing.TB, keys []Key, entries []Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	err := Write(&b, keys, entries, func(i int) ([]float32, error) {
		return numbers(Tensor{Shape: entries[i].Shape}.Len(), uint64(i)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A written file is read with the same keys, and numbers within the bound of their type; Open maps the same.
func TestRoundTrip(t *testing.T) {
	data := encode(t, sampleKeys(), sampleEntries())
	path := filepath.Join(t.TempDir(), "x.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	inMemory, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	onDisk, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{inMemory, onDisk} {
		checkKeys(t, f)
		for i, e := range sampleEntries() {
			checkTensor(t, f.Tensors[i], e, numbers(Tensor{Shape: e.Shape}.Len(), uint64(i)))
		}
	}
	q8 := onDisk.Tensors[1]
	all, row := make([]float32, 3*64), make([]float32, 64)
	if err := errors.Join(q8.Values(all, 0), q8.Values(row, 2)); err != nil || !slices.Equal(row, all[128:]) {
		t.Errorf("row 2: got %v and error %v, want %v", row, err, all[128:])
	}
	for _, first := range []int{-1, 1, math.MaxInt} {
		if err := q8.Values(all, first); err == nil {
			t.Errorf("three of three rows from row %d on: got no error", first)
		}
	}
}

func checkTensor(t *testing.T, got Tensor, e Entry, want []float32) {
	t.Helper()
	if got.Name != e.Name || got.Type != e.Type || !slices.Equal(got.Shape, e.Shape) {
		t.Errorf("got %s %v %v, want %+v", got.Name, got.Shape, got.Type, e)
	}
	x := make([]float32, len(want))
	if err := got.Values(x, 0); err != nil {
		t.Fatal(err)
	}
	for j := range x {
		block := want[j/32*32 : min(len(want), j/32*32+32)]
		if d, tol := math.Abs(float64(x[j]-want[j])), bound(e.Type, want[j], block); !(d <= tol) {
			t.Errorf("%s: number %d: got %v, want %v within %v", e.Name, j, x[j], want[j], tol)
		}
	}
}

// bound returns the largest distance of a number from x in a block, as Write documents it.
func bound(of Type, x float32, block []float32) float64 {
	size, top := math.Abs(float64(x)), 0.0
	for _, v := range block {
		top = max(top, math.Abs(float64(v)))
	}
	return map[Type]float64{
		F32: 0, F16: size/(1<<11) + 0x1p-25, BF16: size / (1 << 8),
		Q8_0: top/254 + top/(1<<10) + 0x1p-18, Q4_0: top/8 + top/(1<<10) + 0x1p-21,
	}[of]
}

func checkKeys(t *testing.T, f *File) {
	t.Helper()
	value := func(name string) Value {
		v, ok := f.Find(name)
		if !ok {
			t.Fatalf("no key %s", name)
		}
		return v
	}
	text, err1 := value("general.architecture").Text()
	n, err2 := value("llama.block_count").Int()
	x, err3 := value("llama.epsilon").Float()
	flag, err4 := value("flag").Bool()
	tokens, err5 := value("tokens").Strings()
	types, err6 := value("types").Ints()
	scores, err7 := value("scores").Floats()
	none, err8 := value("none").Strings()
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Fatal(err)
	}
	if text != "llama" || n != 3 || float32(x) != 1e-5 || !flag || len(none) != 0 {
		t.Errorf("got %q, %d, %v, %t, %q", text, n, x, flag, none)
	}
	if !slices.Equal(tokens, []string{"a", "", "é▁"}) || !slices.Equal(types, []int{1, -3, 6}) ||
		!slices.Equal(scores, []float64{0, -1.5}) {
		t.Errorf("got %q, %v, %v", tokens, types, scores)
	}
	if _, ok := f.Find("llama"); ok {
		t.Error("got a key that is not there")
	}
}

// A value of another kind is an error that shows the value.
func TestKinds(t *testing.T) {
	for want, err := range map[string]error{
		`got "x", want a whole number`:                     second(OfText("x").Int()),
		"got 0.5, want a whole number":                     second(OfFloat(0.5).Int()),
		"got 4294967295, want a whole number":              second(OfInt(math.MaxUint32).Int()),
		"got a list of 2 × int32, want a whole number":     second(OfInts([]int{1, 2}).Int()),
		"got true, want a number":                          second(OfBool(true).Float()),
		"got 3, want true or false":                        second(OfInt(3).Bool()),
		"got 3, want a string":                             second(OfInt(3).Text()),
		"got 3, want a list of strings":                    second(OfInt(3).Strings()),
		"got a list of 1 × float32, want a list of whole":  second(OfFloats([]float32{1}).Ints()),
		"got a list of 1 × string, want a list of numbers": second(OfStrings([]string{"1"}).Floats()),
		"got no value, want a whole number":                second(Value{}.Int()),
		"got no value, want a number":                      second(OfInt(-1).Float()),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	if n := OfInts([]int{4, 5}).Len(); n != 2 {
		t.Errorf("got %d entries, want 2", n)
	}
}

// Whole numbers and floating-point numbers of every kind are read as they are.
func TestNumbers(t *testing.T) {
	for want, v := range map[string]Value{
		"255":                  {kind: kindUint8, raw: []byte{255}},
		"-1":                   {kind: kindInt8, raw: []byte{255}},
		"65534":                {kind: kindUint16, raw: []byte{254, 255}},
		"-2":                   {kind: kindInt16, raw: []byte{254, 255}},
		"-3":                   {kind: kindInt32, raw: []byte{253, 255, 255, 255}},
		"-4":                   {kind: kindInt64, raw: []byte{252, 255, 255, 255, 255, 255, 255, 255}},
		"18446744073709551612": {kind: kindUint64, raw: []byte{252, 255, 255, 255, 255, 255, 255, 255}},
		"-2.5":                 {kind: kindFloat64, raw: []byte{0, 0, 0, 0, 0, 0, 4, 0xc0}},
		"false":                {kind: kindBool, raw: []byte{0}},
	} {
		if v.n = 1; v.String() != want {
			t.Errorf("got %s, want %s", v, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// Write refuses what Read refuses, and numbers that a type cannot hold.
func TestWriteRefuses(t *testing.T) {
	var b bytes.Buffer
	ones := func(n int, x float32) func(int) ([]float32, error) {
		return func(int) ([]float32, error) { return slices.Repeat([]float32{x}, n), nil }
	}
	keys := func(list ...Key) error { return Write(&b, list, nil, ones(1, 1)) }
	one := func(n int, x float32, list ...Entry) error { return Write(&b, nil, list, ones(n, x)) }
	two := []Entry{{"x", []int{1}, F32}, {"y", []int{1}, F32}}
	gone := func(int) ([]float32, error) { return nil, errors.New("the values are gone") }
	for want, err := range map[string]error{
		"the writer is nil":                     Write(nil, nil, nil, ones(1, 1)),
		"the values is nil":                     Write(&b, nil, nil, nil),
		`key "k": no value`:                     keys(Key{"k", OfInt(-1)}),
		`key "k" appears twice`:                 keys(Key{"k", OfInt(1)}, Key{"k", OfInt(1)}),
		"key: got 0 bytes, want 1 to":           keys(Key{"", OfInt(1)}),
		"general.alignment: got 12, want":       keys(Key{alignmentKey, OfInt(12)}),
		"general.alignment: got 0, want":        keys(Key{alignmentKey, OfInt(0)}),
		"type: got Q6_K, want one of":           one(256, 1, Entry{"x", []int{256}, Q6_K}),
		"type: got an unknown type, want":       one(256, 1, Entry{"x", []int{256}, 5}),
		"Q8_0: got 33 numbers, want a multiple": one(32*33, 1, Entry{"x", []int{32, 33}, Q8_0}),
		"tensors: got 1, but the 25 bytes":      one(1, 1, Entry{"x", nil, F32}),
		"sizes: got 5, want 1 to 4":             one(1, 1, Entry{"x", []int{1, 1, 1, 1, 1}, F32}),
		"size: got 0, want at least 1":          one(0, 1, Entry{"x", []int{2, 0}, F32}),
		"size: got 18446744073709551615":        one(0, 1, Entry{"x", []int{-1}, F32}),
		`tensor "x" appears twice`:              one(1, 1, two[0], two[0]),
		"tensor: got 65 bytes, want 1 to 64":    one(1, 1, Entry{strings.Repeat("x", 65), []int{1}, F32}),
		"which is not UTF-8":                    one(1, 1, Entry{"\xff", []int{1}, F32}),
		"got 3 values, want 2 for shape [2]":    one(3, 1, Entry{"x", []int{2}, F32}),
		`tensor "x": F32: number 0 of [+Inf]`:   one(2, float32(math.Inf(1)), Entry{"x", []int{2}, F32}),
		"F16: number 0 of [65520]":              one(1, 65520, Entry{"x", []int{1}, F16}),
		"BF16: number 0 of [3.4028235e+38]":     one(1, math.MaxFloat32, Entry{"x", []int{1}, BF16}),
		"Q8_0: number 0 of [NaN":                one(32, float32(math.NaN()), Entry{"x", []int{32}, Q8_0}),
		"Q4_0: number 0 of [1e+06":              one(32, 1e6, Entry{"x", []int{32}, Q4_0}),
		`tensor "x": the values are gone`:       Write(&b, nil, two, gone),
		"gguf: header: the disk is full":        Write(&full{calls: 0}, nil, two, ones(1, 1)),
		`gguf: tensor "x": the disk is full`:    Write(&full{calls: 1}, nil, two, ones(1, 1)),
		`tensor "x": the disk is full after 2`:  Write(&full{calls: 2}, nil, two, ones(1, 1)),
		`tensor "y": the disk is full after 3`:  Write(&full{calls: 3}, nil, two, ones(1, 1)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// full is a disk with room for some calls.
type full struct{ calls, done int }

func (f *full) Write(b []byte) (int, error) {
	if f.done == f.calls {
		return 0, fmt.Errorf("the disk is full after %d", f.done)
	}
	f.done++
	return len(b), nil
}

// A file that is not there, a directory and an empty file are errors that name the path.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"empty": {}, "short": []byte("GGUF\x03"), "other": make([]byte, 99)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"", "missing", "empty", "short", "other"} {
		path := filepath.Join(dir, name)
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got error %v, want one with its path", path, err)
		}
	}
}
