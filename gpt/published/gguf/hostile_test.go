package gguf

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"strings"
	"testing"
	"time"
)

// raw builds a file from its parts.
type raw []byte

func (r raw) u32(x uint32) raw    { return binary.LittleEndian.AppendUint32(r, x) }
func (r raw) u64(x uint64) raw    { return binary.LittleEndian.AppendUint64(r, x) }
func (r raw) text(s string) raw   { return append(r.u64(uint64(len(s))), s...) }
func (r raw) bytes(n int) raw     { return append(r, make([]byte, n)...) }
func (r raw) padded(n int) raw    { return r.bytes(-len(r) & (n - 1)) }
func (r raw) kind(k kind) raw     { return r.u32(uint32(k)) }
func (r raw) list(k kind) raw     { return r.kind(kindList).kind(k) }
func begin(tensors, k uint64) raw { return raw(magic).u32(version).u64(tensors).u64(k) }
func oneKey() raw                 { return begin(0, 1).text("k") }

// tensor appends a description with its sizes innermost first.
func (r raw) tensor(name string, kind Type, offset uint64, sizes ...uint64) raw {
	r = r.text(name).u32(uint32(len(sizes)))
	for _, n := range sizes {
		r = r.u64(n)
	}
	return r.u32(uint32(kind)).u64(offset)
}

// hostile returns files that must be refused, by a part of their error.
func hostile() map[string][]byte {
	const huge = 1 << 63
	two := func(first, second uint64) []byte {
		return begin(2, 0).tensor("a", F32, first, 8).tensor("b", F32, second, 8).padded(32).bytes(96)
	}
	aligned := func(n uint32) []byte {
		return begin(1, 1).text(alignmentKey).kind(kindUint32).u32(n).tensor("a", F32, 0, 1).bytes(99)
	}
	one := func(name string, of Type, sizes ...uint64) []byte {
		return begin(1, 0).tensor(name, of, 0, sizes...).bytes(99)
	}
	return map[string][]byte{
		"the first bytes: got 0 bytes":                      {},
		`the first bytes: got "GGML"`:                       raw("GGML").u32(3).u64(0).u64(0),
		"version: got 3 of a big-endian file":               raw(magic).u32(3 << 24).u64(0).u64(0),
		"version: got 2, want 3":                            raw(magic).u32(2).u64(0).u64(0),
		"tensors: got 9223372036854775808, want":            begin(huge, 0),
		"tensors: got 100, but the 0 bytes":                 begin(100, 0),
		"keys: got 9223372036854775808, want":               begin(0, huge),
		"keys: got 18446744073709551615, want":              begin(0, 1<<64-1),
		"keys: got 60000, but the 0 bytes":                  begin(0, 60_000),
		"key: got 9223372036854775808 bytes":                begin(0, 1).u64(huge).bytes(20),
		"key: got 22 bytes, want 60000":                     begin(0, 1).u64(60_000).bytes(22),
		"key: got 0 bytes":                                  begin(0, 1).u64(0).bytes(20),
		"which is not UTF-8":                                begin(0, 1).text("\xff").bytes(20),
		`key "k": unknown kind 13`:                          oneKey().kind(13).bytes(20),
		`key "k": value: got 5 bytes, want 8`:               oneKey().kind(kindUint64).bytes(5),
		`key "k": a truth value: got a byte above 1`:        append(oneKey().kind(kindBool), 2),
		`key "k": got a list of lists`:                      oneKey().list(kindList).u64(1).bytes(20),
		`key "k": list: got 9223372036854775808`:            oneKey().list(kindUint8).u64(huge).bytes(20),
		`key "k": list: got 4611686018427387904`:            oneKey().list(kindUint32).u64(1 << 62).bytes(20),
		`key "k": list: got 3, but the 20 bytes`:            oneKey().list(kindString).u64(3).bytes(20),
		`key "k": string: got 12 bytes, want 9223372036854`: oneKey().list(kindString).u64(2).u64(huge).bytes(12),
		`key "k": string: got 4 bytes, want 12`:             oneKey().kind(kindString).u64(12).bytes(4),
		"general.alignment: got 24, want a power":           aligned(24),
		"general.alignment: got 0, want a power":            aligned(0),
		"general.alignment: got 1048576, want a power":      aligned(1 << 20),
		`general.alignment: got "32", want`:                 begin(1, 1).text(alignmentKey).kind(kindString).text("32").tensor("a", F32, 0, 1).bytes(99),
		"tensor: got 65 bytes, want 1 to 64":                one(strings.Repeat("a", 65), F32, 1),
		`tensor "a": sizes: got 4294967295`:                 begin(1, 0).text("a").u32(1<<32 - 1).bytes(99),
		`tensor "a": size: got 0`:                           one("a", F32, 0),
		`tensor "a": size: got 9223372036854775808`:         one("a", F32, huge),
		`tensor "a": size: got 4294967296`:                  one("a", F32, 1<<32, 1<<32),
		`tensor "a": type: got 4, want one of F32`:          one("a", 4, 32),
		`tensor "a": type: got 31, want one of F32`:         one("a", 31, 32),
		`tensor "a": Q8_0: got 16 numbers, want`:            one("a", Q8_0, 16, 2),
		`tensor "a" appears twice`:                          begin(2, 0).tensor("a", F32, 0, 8).tensor("a", F32, 32, 8).padded(32).bytes(64),
		`tensor "b" begins at byte 0 of the data, want 32`:  two(0, 0),
		`tensor "b" begins at byte 64 of the data, want 32`: two(0, 64),
		`tensor "b" begins at byte 31 of the data, want 32`: two(0, 31),
		`tensor "a" begins at byte 32 of the data, want 0`:  two(32, 0),
		`tensor "a" begins at byte 9223372036854775808`:     two(huge, 0),
		`tensor "a" has bytes 0 … 4096 of the data`:         begin(1, 0).tensor("a", F32, 0, 1024).padded(32).bytes(4095),
		"the tensors end at byte 32 of the data":            begin(1, 0).tensor("a", F32, 0, 8).padded(32).bytes(33),
		"padding before the tensors: got":                   begin(1, 0).tensor("a", F32, 0, 8),
	}
}

// Every false count, length, kind, size, type and offset is refused with its reason, in little time and memory.
func TestHostile(t *testing.T) {
	files := hostile()
	files[`key "k" appears twice`] = begin(0, 2).text("k").kind(kindUint8).bytes(1).text("k").kind(kindUint8).bytes(1)
	for want, data := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		_, err := Read(data)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "gguf: ") {
			t.Errorf("got error %v, want %s", err, want)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
			t.Errorf("%s: %d bytes allocated", want, got)
		}
		if took > 5*time.Second {
			t.Errorf("%s: took %v", want, took)
		}
	}
}

// Every file that is cut off is refused. A flipped bit is refused, or changes a name, a value or a type.
func TestTruncated(t *testing.T) {
	data := encode(t, sampleKeys(), sampleEntries())
	for n := range data {
		if _, err := Read(data[:n:n]); err == nil {
			t.Errorf("accepted the first %d of %d bytes", n, len(data))
		}
	}
	header := bytes.Index(data, []byte("bf")) + 2
	refused := 0
	for bit := range 8 * header {
		data[bit/8] ^= 1 << (bit % 8)
		if f, err := Read(data); err != nil {
			refused++
		} else {
			touch(t, f)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
	t.Logf("%d of %d flipped bits refused", refused, 8*header)
	if refused < 8*header/4 {
		t.Errorf("only %d of %d flipped bits refused", refused, 8*header)
	}
}

// touch reads everything in a file.
func touch(t *testing.T, f *File) {
	t.Helper()
	for _, k := range f.Keys {
		_ = k.String()
		k.Int()
		k.Float()
		k.Bool()
		k.Text()
		k.Strings()
		k.Ints()
		k.Floats()
	}
	for _, x := range f.Tensors {
		if data, _ := x.Blocks(); len(data) == 0 {
			t.Errorf("tensor %s has no bytes", x.Name)
		}
		if err := x.Values(make([]float32, x.Len()), 0); err != nil {
			t.Error(err)
		}
	}
}
