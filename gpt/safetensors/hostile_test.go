package safetensors

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// hostile returns files that must be refused.
func hostile() map[string][]byte {
	const (
		w     = `"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`
		valid = "{" + w + "}"
	)
	four := []byte{0, 0, 0, 0}
	entry := func(dtype, shape, offsets string) []byte {
		return file(`{"w":{"dtype":`+dtype+`,"shape":`+shape+`,"data_offsets":`+offsets+`}}`, four...)
	}
	empty := func(dtype, shape, offsets string) []byte {
		b := entry(dtype, shape, offsets)
		return b[:len(b)-len(four)]
	}
	named := func(name string) []byte {
		return file(`{"`+name+`":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four...)
	}
	length := func(n uint64) []byte {
		return append(binary.LittleEndian.AppendUint64(nil, n), valid+"\x00\x00\x00\x00"...)
	}
	many := func(n int, entry string) []byte {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, entry+",", i)
		}
		return file(strings.TrimSuffix(b.String(), ",") + "}")
	}
	huge := strings.Repeat(" ", maxHeader-len(valid)-1)

	return map[string][]byte{
		"empty file":             {},
		"seven bytes":            make([]byte, 7),
		"length only, zero":      make([]byte, 8),
		"length beyond the file": length(uint64(len(valid)) + 5),
		"length 2^63":            length(1 << 63),
		"length 2^64-1":          length(1<<64 - 1),
		"length one too short":   length(uint64(len(valid)) - 1),
		"length one too long":    length(uint64(len(valid)) + 1),
		"header over the limit":  file(strings.Repeat(" ", maxHeader+1-len(valid))+valid, four...),

		"null":                  file(`null`),
		"array":                 file(`[]`),
		"string":                file(`"a"`),
		"white space only":      file(`   `),
		"text after the object": file(valid+"x", four...),
		"second object":         file(valid+"{}", four...),
		"NUL after the object":  file(valid+"\x00", four...),
		"byte order mark":       file("\ufeff"+valid, four...),
		"other white space":     file("\v"+valid, four...),
		"no-break space":        file("\u00a0"+valid, four...),
		"comma at the end":      file(`{`+w+`,}`, four...),
		"two commas":            file(`{`+w+`,,"v":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}}`, four...),
		"no colon":              file(strings.Replace(valid, `"w":`, `"w"`, 1), four...),
		"comment":               file("/**/"+valid, four...),
		"object without end":    file(valid[:len(valid)-1], four...),
		"string without end":    file(`{"w`, four...),
		"string ends in escape": file(`{"w\`, four...),
		"unquoted key":          file(strings.Replace(valid, `"w"`, `w`, 1), four...),
		"nested too deep":       file(strings.Repeat(`{"a":`, 100_000), four...),
		"many open brackets":    file(strings.Repeat(`[`, 1_000_000), four...),
		"newline in a name":     named("a\nb"),
		"invalid UTF-8":         named("a\xff"),
		"overlong UTF-8":        named("\xc0\x80"),
		"surrogate in UTF-8":    named("\xed\xa0\x80"),
		"lone high surrogate":   named(`\ud800`),
		"lone low surrogate":    named(`\udc00`),
		"two high surrogates":   named(`\ud800\ud800`),
		"high, then other":      named(`\ud800\u0041`),
		"high, then text":       named(`\ud800abcdef`),
		"high, then newline":    named(`\ud800\nabcdef`),
		"unknown escape":        named(`\x41`),
		"escaped backslashes":   file(`{"`+strings.Repeat(`\\`, maxHeader/4)+`":1}`, four...),
		"long \\u escapes":      file(`{"`+strings.Repeat(`\u0041`, maxHeader/8)+`":1}`, four...),
		"short escape":          named(`\u41`),
		"empty name":            named(``),
		"NUL in the name":       named(`a\u0000`),
		"entry is null":         file(`{"w":null}`),
		"entry is an array":     file(`{"w":["F32",[1],[0,4]]}`, four...),
		"entry is empty":        file(`{"w":{}}`),
		"no dtype":              file(`{"w":{"shape":[1],"data_offsets":[0,4]}}`, four...),
		"no shape":              file(`{"w":{"dtype":"F32","data_offsets":[0,4]}}`, four...),
		"no data_offsets":       file(`{"w":{"dtype":"F32","shape":[0]}}`),
		"unknown key":           file(`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1}}`, four...),
		"key in other case":     file(`{"w":{"DType":"F32","shape":[1],"data_offsets":[0,4]}}`, four...),
		"dtype twice":           file(`{"w":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four...),
		"shape twice":           file(`{"w":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}}`, four...),
		"empty shape twice":     file(`{"w":{"dtype":"F32","shape":[],"shape":[],"data_offsets":[0,4]}}`, four...),
		"offsets twice": file(
			`{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"data_offsets":[0,4]}}`, four...,
		),
		"same name twice": file(`{`+w+`,`+w+`}`, four...),
		"same name, escaped": file(
			`{"e":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"\u0065":{"dtype":"F32","shape":[0],"data_offsets":[4,4]},`+w+`}`,
			four...,
		),
		"unknown dtype":          entry(`"F31"`, `[1]`, `[0,4]`),
		"dtype in lower case":    entry(`"f32"`, `[1]`, `[0,4]`),
		"empty dtype":            empty(`""`, `[0]`, `[0,0]`),
		"dtype is a number":      entry(`32`, `[1]`, `[0,4]`),
		"dtype is null":          entry(`null`, `[1]`, `[0,4]`),
		"eight-bit float":        entry(`"F8_E4M3"`, `[4]`, `[0,4]`),
		"shape is null":          entry(`"F32"`, `null`, `[0,4]`),
		"shape is a number":      entry(`"F32"`, `1`, `[0,4]`),
		"negative dimension":     entry(`"F32"`, `[-1]`, `[0,4]`),
		"two negative":           entry(`"F32"`, `[-1,-1]`, `[0,4]`),
		"dimension 1.0":          entry(`"F32"`, `[1.0]`, `[0,4]`),
		"dimension 1e0":          entry(`"F32"`, `[1e0]`, `[0,4]`),
		"dimension 01":           entry(`"F32"`, `[01]`, `[0,4]`),
		"dimension +1":           entry(`"F32"`, `[+1]`, `[0,4]`),
		"dimension is a string":  entry(`"F32"`, `["1"]`, `[0,4]`),
		"dimension is null":      entry(`"F32"`, `[null]`, `[0,4]`),
		"dimension 2^63":         entry(`"F32"`, `[9223372036854775808]`, `[0,4]`),
		"dimension 2^64+1":       entry(`"F32"`, `[18446744073709551617]`, `[0,4]`),
		"product overflows to 1": entry(`"F32"`, `[7,7905747460161236407]`, `[0,4]`),
		"bytes overflow to 4":    entry(`"F32"`, `[4611686018427387905]`, `[0,4]`),
		"overflow next to zero":  empty(`"F32"`, `[0,4611686018427387904,4611686018427387904]`, `[0,0]`),
		"overflow before zero":   empty(`"F32"`, `[4611686018427387904,4611686018427387904,0]`, `[0,0]`),
		"rank 9":                 entry(`"F32"`, `[1,1,1,1,1,1,1,1,1]`, `[0,4]`),
		"rank of millions": file(
			`{"w":{"dtype":"F32","shape":[1` + strings.Repeat(",1", 4_000_000) + `],"data_offsets":[0,4]}}`,
		),
		"comma after dimension": entry(`"F32"`, `[1,]`, `[0,4]`),
		"offsets reversed":      entry(`"F32"`, `[0]`, `[4,0]`),
		"offsets beyond file":   entry(`"F32"`, `[2]`, `[0,8]`),
		"offsets too near":      entry(`"F32"`, `[2]`, `[0,4]`),
		"offsets too far":       entry(`"U8"`, `[1]`, `[0,4]`),
		"offsets near 2^63":     entry(`"F32"`, `[1]`, `[9223372036854775803,9223372036854775807]`),
		"offset 2^64":           entry(`"F32"`, `[1]`, `[18446744073709551616,18446744073709551620]`),
		"negative offset":       entry(`"F32"`, `[1]`, `[-4,0]`),
		"one offset":            empty(`"F32"`, `[0]`, `[0]`),
		"three offsets":         entry(`"F32"`, `[1]`, `[0,4,4]`),
		"no offsets":            empty(`"F32"`, `[0]`, `[]`),
		"offset is a float":     entry(`"F32"`, `[1]`, `[0,4.0]`),
		"hole before":           entry(`"U8"`, `[3]`, `[1,4]`),
		"uncovered at the end":  entry(`"U8"`, `[3]`, `[0,3]`),
		"data without tensor":   file(`{}`, four...),
		"hole between": file(
			`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`,
			four...,
		),
		"overlap": file(
			`{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}}`,
			four...,
		),
		"same bytes twice":    file(`{`+w+`,"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, four...),
		"empty tensor inside": file(`{`+w+`,"e":{"dtype":"F32","shape":[0],"data_offsets":[2,2]}}`, four...),
		"empty tensor beyond": file(`{`+w+`,"e":{"dtype":"F32","shape":[0],"data_offsets":[9,9]}}`, four...),

		"metadata is null":       file(`{"__metadata__":null,`+w+`}`, four...),
		"metadata is an array":   file(`{"__metadata__":[],`+w+`}`, four...),
		"metadata of a number":   file(`{"__metadata__":{"a":1},`+w+`}`, four...),
		"metadata of an object":  file(`{"__metadata__":{"a":{}},`+w+`}`, four...),
		"metadata twice":         file(`{"__metadata__":{},"__metadata__":{},`+w+`}`, four...),
		"metadata key twice":     file(`{"__metadata__":{"a":"1","a":"1"},`+w+`}`, four...),
		"metadata not UTF-8":     file(`{"__metadata__":{"a":"`+"\xff"+`"},`+w+`}`, four...),
		"metadata key not UTF-8": file(`{"__metadata__":{"`+"\xff"+`":"a"},`+w+`}`, four...),
		"metadata bad escape":    file(`{"__metadata__":{"a":"\x41"},`+w+`}`, four...),
		"metadata surrogate":     file(`{"__metadata__":{"a":"\ud800"},`+w+`}`, four...),

		"long white space":  file("{"+huge+"x}", four...),
		"long name":         file(`{"`+strings.Repeat("a", maxHeader-9)+`":1}`, four...),
		"long escaped name": file(`{"`+strings.Repeat(`\n`, maxHeader/4)+`":1}`, four...),
		"long number":       entry(`"F32"`, `[`+strings.Repeat("1", maxHeader-100)+`]`, `[0,4]`),
		"many tensors":      many(maxTensors+1, `"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`),
		"very many tensors": many(120_000, `"%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`),
		"most tensors, one twice": many(
			maxTensors/2,
			`"%[1]d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"%[1]d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`,
		),
		"much metadata": many(200_000, `"__metadata__":{"%d":""}`),
		"many metadata entries": file(
			strings.Replace(string(many(500_000, `"%d":""`)[8:]), "{", `{"__metadata__":{`, 1) + "}",
		),
		"most tensors, a hole": many(
			maxTensors, `"%[1]d":{"dtype":"F32","shape":[0,1,2,3],"data_offsets":[%[1]d,%[1]d]}`,
		),
	}
}

// TestHostile checks that each file is an error and takes at most 1 MB of memory beyond its size.
func TestHostile(t *testing.T) {
	files := hostile()
	if len(files) < 50 {
		t.Fatalf("got %d files, want at least 50", len(files))
	}
	var worst int64
	for name, data := range files {
		alloc := allocated(t, name, data) - int64(len(data))
		if alloc > slower<<20 {
			t.Errorf("%s: allocates %d bytes more than the file has", name, alloc)
		}
		worst = max(worst, alloc)
	}
	t.Logf("%d files: worst allocation beyond the file %d bytes", len(files), worst)
}

// allocated reads data, which must fail, and returns the bytes allocated.
func allocated(t *testing.T, name string, data []byte) int64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := Read(data)
	runtime.ReadMemStats(&after)
	if err == nil {
		t.Errorf("%s: accepted", name)
	}
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// TestDamage checks that no truncation is accepted and that no flipped bit of the header makes the reader panic. (The
// format has no checksum, so some flips give another valid file; package checkpoint's manifest detects those.)
func TestDamage(t *testing.T) {
	data := encode(t, sample(), map[string]string{"format": "pt"})
	for n := range data {
		if _, _, err := Read(data[:n:n]); err == nil {
			t.Errorf("accepted the first %d of %d bytes", n, len(data))
		}
	}
	header := 8 + int(binary.LittleEndian.Uint64(data))
	refused := 0
	for bit := range 8 * header {
		data[bit/8] ^= 1 << (bit % 8)
		if _, _, err := Read(data); err != nil {
			refused++
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	t.Logf("%d of %d flipped header bits refused", refused, 8*header)
	if refused < 8*header/2 {
		t.Errorf("only %d of %d flipped header bits refused", refused, 8*header)
	}
}
