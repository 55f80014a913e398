package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// file puts a header and data together.
func file(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

// sample returns every kind of tensor that Write accepts.
func sample() []Tensor {
	return []Tensor{
		{Name: "wte.weight", Shape: []int{3, 2}, F32: []float32{1, -2, 3.5, 0, float32(math.Copysign(0, -1)), 1e-45}},
		{Name: "scalar", Shape: []int{}, F32: []float32{float32(math.Inf(1))}},
		{Name: "ln_f.<bias> é \"\\\n", Shape: []int{2}, F64: []float64{math.Pi, 5e-324}},
		{Name: "empty", Shape: []int{0, 7}, F32: []float32{}},
	}
}

func encode(t testing.TB, tensors []Tensor, metadata map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	long := Tensor{Name: "long", Shape: []int{2*chunk + 3}, F32: make([]float32, 2*chunk+3)}
	for i := range long.F32 {
		long.F32[i] = float32(i)
	}
	in := append(sample(), long)
	meta := map[string]string{"format": "pt", "b": "", "a": "ü\n"}
	data := encode(t, in, meta)
	if again := encode(t, in, meta); !bytes.Equal(data, again) {
		t.Error("two writes differ")
	}
	if n := binary.LittleEndian.Uint64(data); n%8 != 0 {
		t.Errorf("header of %d bytes is not aligned", n)
	}
	out, gotMeta, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	want := []Tensor{in[2], in[0], in[1], in[3], in[4]} // float64 first
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(meta, gotMeta); diff != "" {
		t.Error(diff)
	}
	if !math.Signbit(float64(out[1].F32[4])) {
		t.Error("-0 became 0")
	}
}

// TestGolden compares the bytes, so that the format cannot drift.
func TestGolden(t *testing.T) {
	got := encode(
		t, []Tensor{{Name: "w", Shape: []int{1, 2}, F32: []float32{1, -2}}}, map[string]string{"format": "pt"},
	)
	want := file(`{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`+" ",
		0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q\n%s", got, diff)
	}
}

// An entry has as many bytes as its numbers take.
func TestEntryBytes(t *testing.T) {
	data := encode(t, sample(), nil)
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"wte.weight": 24, "scalar": 4, "ln_f.<bias> é \"\\\n": 16, "empty": 0}
	for _, e := range f.Entries {
		if e.Bytes() != want[e.Name] || e.Bytes() != e.Len()*width(e.DType) {
			t.Errorf("%q: got %d bytes of %d numbers, want %d", e.Name, e.Bytes(), e.Len(), want[e.Name])
		}
	}
	if len(f.Entries) != len(want) {
		t.Errorf("got %d entries, want %d", len(f.Entries), len(want))
	}
}

func TestWriteErrors(t *testing.T) {
	one := []float32{1}
	for want, tensors := range map[string][]Tensor{
		"twice":          {{Name: "a", F32: one}, {Name: "a", F32: one}},
		"is empty":       {{F32: one}},
		"NUL":            {{Name: "a\x00", F32: one}},
		"UTF-8":          {{Name: "a\xff", F32: one}},
		"reserved":       {{Name: "__metadata__", F32: one}},
		"got 1 values":   {{Name: "a", Shape: []int{2}, F32: one}},
		"want 0":         {{Name: "a", Shape: []int{0}, F32: one}},
		"negative":       {{Name: "a", Shape: []int{-1}, F32: one}},
		"overflows":      {{Name: "a", Shape: []int{1 << 30, 1 << 30, 1 << 30, 0}, F32: one}},
		"rank is 9":      {{Name: "a", Shape: []int{1, 1, 1, 1, 1, 1, 1, 1, 1}, F32: one}},
		"either":         {{Name: "a", F32: one, F64: []float64{1}}},
		"needs either":   {{Name: "a"}},
		"tensors, the":   make([]Tensor, maxTensors+1),
		"header has 838": {{Name: strings.Repeat("a", maxHeader), F32: one}},
	} {
		var b bytes.Buffer
		if err := Write(&b, tensors, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if b.Len() != 0 {
			t.Errorf("%s: wrote %d bytes", want, b.Len())
		}
	}
	if err := Write(&bytes.Buffer{}, nil, map[string]string{"a": "\xff"}); err == nil {
		t.Error("accepted metadata that is not UTF-8")
	}
	for want, e := range map[string]Entry{
		"negative":  {Name: "a", DType: F32, Shape: []int{-1}},
		"overflows": {Name: "a", DType: F64, Shape: []int{1 << 60, 2}},
		"dtype":     {Name: "a", DType: "F16"},
		"is empty":  {DType: BF16},
	} {
		values := func(int) (Tensor, error) {
			t.Errorf("%s: asked for the values", want)
			return Tensor{}, nil
		}
		var b bytes.Buffer
		if err := WriteEach(&b, []Entry{e}, nil, values); err == nil || !strings.Contains(err.Error(), want) ||
			b.Len() != 0 {
			t.Errorf("wrote %d bytes, got error %v, want %q", b.Len(), err, want)
		}
	}
}

// full is a writer that has room for n bytes.
type full struct{ n int }

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriteFull(t *testing.T) {
	data := encode(t, sample(), nil)
	for n := range data {
		if err := Write(&full{n}, sample(), nil); !errors.Is(err, errFull) {
			t.Fatalf("room for %d of %d bytes: got %v", n, len(data), err)
		}
	}
}

func TestHalfPrecision(t *testing.T) {
	data := file(`{"h":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]},`+
		`"b":{"dtype":"BF16","shape":[3],"data_offsets":[131072,131078]}}`, make([]byte, 131078)...)
	values := data[len(data)-131078:]
	for i := range 65536 {
		binary.LittleEndian.PutUint16(values[2*i:], uint16(i))
	}
	copy(values[131072:], []byte{0x80, 0x3f, 0x49, 0xc0, 0x80, 0x7f}) // 1, -3.140625, +Inf
	tensors, _, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range tensors[0].F32 {
		sign, exponent, fraction := 1-2*float64(i>>15), i>>10&31, float64(i&1023)
		want := sign * math.Ldexp(1+fraction/1024, exponent-15)
		switch {
		case exponent == 0:
			want = sign * math.Ldexp(fraction/1024, -14)
		case exponent == 31 && fraction == 0:
			want = math.Inf(int(sign))
		case exponent == 31:
			want = math.NaN()
		}
		same := float64(got) == want && math.Signbit(float64(got)) == math.Signbit(want)
		if !same && !(math.IsNaN(want) && math.IsNaN(float64(got))) {
			t.Fatalf("%#04x: got %v, want %v", i, got, want)
		}
	}
	if diff := cmp.Diff([]float32{1, -3.140625, float32(math.Inf(1))}, tensors[1].F32); diff != "" {
		t.Error(diff)
	}
}

// TestMaskBuffers checks that integers and booleans come back named, without values.
func TestMaskBuffers(t *testing.T) {
	for _, dtype := range []string{"BOOL", "U8", "I8", "U16", "I16", "U32", "I32", "U64", "I64"} {
		n := width(dtype)
		header := `{"h.0.attn.bias":{"dtype":"` + dtype + `","shape":[1,1,1],"data_offsets":[0,` + string(rune('0'+n)) +
			`]}}`
		data := file(header, make([]byte, n)...)
		f, err := Open(bytes.NewReader(data), int64(len(data)))
		if err != nil || f.Entries[0].Len() != 0 {
			t.Fatalf("%s: got %+v, %v, want no values", dtype, f, err)
		}
		got, _, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Tensor{{Name: "h.0.attn.bias", Shape: []int{1, 1, 1}}}, got); diff != "" {
			t.Errorf("%s: %s", dtype, diff)
		}
	}
}

// TestNames checks that a name comes back as encoding/json decodes it.
func TestNames(t *testing.T) {
	for _, name := range []string{"é", `\"\\\/\b\f\n\r\t`, `\u00e9\uD83D\uDE00\ufffd\\u0041`, "\ufffd", `a\\`} {
		var want string
		if err := json.Unmarshal([]byte(`"`+name+`"`), &want); err != nil {
			t.Fatal(err)
		}
		got, _, err := Read(file(`{"` + name + `":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`))
		if err != nil || got[0].Name != want {
			t.Errorf("%s: got %v, %v, want %q", name, got, err, want)
		}
	}
}

// TestAccept lists unusual files that are allowed.
func TestAccept(t *testing.T) {
	const entry = `"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
	for name, header := range map[string]string{
		"white space around":  " \t\r\n{" + entry + "} \t\r\n",
		"white space inside":  `{ "w" : { "dtype" : "F32" , "shape" : [ 1 ] , "data_offsets" : [ 0 , 4 ] } }`,
		"other order of keys": `{"w":{"data_offsets":[0,4],"shape":[1],"dtype":"F32"}}`,
		"escaped key":         `{"w":{"\u0064type":"F32","shape":[1],"data_offsets":[0,4]}}`,
		"scalar":              `{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`,
		"metadata last":       `{` + entry + `,"__metadata__":{"a":"b"}}`,
		"empty metadata":      `{"__metadata__":{},` + entry + `}`,
		"surrogate pair":      `{"\ud83d\ude00":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`,
		"empty tensor":        `{"e":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},` + entry + `}`,
		"order of the file":   `{"b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}`,
	} {
		if _, _, err := Read(file(header, 0, 0, 0, 0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, header := range []string{`{}`, `{ }`} {
		if tensors, meta, err := Read(file(header)); err != nil || len(tensors) != 0 || meta != nil {
			t.Errorf("%s: got %v, %v, %v", header, tensors, meta, err)
		}
	}
}

// Without metadata tensors are separated correctly, and names may consist of escaped characters only.
func TestNamesOfBackslashes(t *testing.T) {
	in := []Tensor{
		{Name: `\`, Shape: []int{1}, F32: []float32{1}}, {Name: `\\\"`, Shape: []int{1}, F32: []float32{2}},
		{Name: "plain", Shape: []int{1}, F32: []float32{3}},
	}
	out, meta, err := Read(encode(t, in, nil))
	if err != nil || meta != nil {
		t.Fatalf("got metadata %v, error %v", meta, err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Error(diff)
	}
}

// The error names the first mistake, wherever it is.
func TestReasons(t *testing.T) {
	for header, want := range map[string]string{
		"{\"a\nb\":{}}": "control character in a string",
		`{"w":{"dtype":"F32","shape":[0,9999999999999999999],"data_offsets":[0,0]}}`: "9999999999999999999 is too large",
		`{"w":{"dtype":"F32","shape":[0,9223372036854775808],"data_offsets":[0,0]}}`: "9223372036854775808 is too large",
		`{"w":{"dtype":"F32","shape":[01],"data_offsets":[0,4]}}`:                    "want an unsigned integer",
		`{"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`:                    "want an unsigned integer",
		`{"w`: "string without end", `{"w\x":{}}`: "string has an escape that JSON does not define", `{"\ud800":{}}`: "half of a surrogate pair",
		`{"w" 1}`: `got "1", want ":"`,
	} {
		if _, _, err := Read(file(header)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", header, err, want)
		}
	}
}
