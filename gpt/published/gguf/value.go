package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"

	"github.com/pkg/errors"
)

func errorf(format string, args ...any) error { return errors.Errorf("gguf: "+format, args...) }

func wrapf(err error, format string, args ...any) error {
	return errors.Wrapf(err, "gguf: "+format, args...)
}

// kind is the type of a value.
type kind uint32

// The kinds of values, as in a file.
const (
	kindUint8 kind = iota
	kindInt8
	kindUint16
	kindInt16
	kindUint32
	kindInt32
	kindFloat32
	kindBool
	kindString
	kindList // of values of one other kind
	kindUint64
	kindInt64
	kindFloat64
)

// String returns the name of the kind.
func (k kind) String() string {
	names := []string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "list",
		"uint64", "int64", "float64"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("unknown kind %d", uint32(k))
}

// size returns the bytes of a value; 0 stands for a string, a list or an unknown kind.
func (k kind) size() int {
	switch k {
	case kindUint8, kindInt8, kindBool:
		return 1
	case kindUint16, kindInt16:
		return 2
	case kindUint32, kindInt32, kindFloat32:
		return 4
	case kindUint64, kindInt64, kindFloat64:
		return 8
	}
	return 0
}

// Value is the value of a key: a number, a truth value, a string, or a list of one kind of these. It refers to the
// memory of its file.
type Value struct {
	kind kind // of the value or, in a list, of its entries
	list bool // it is a list
	n    int  // its entries; 1 if it is no list
	raw  []byte
	from *memory
}

// Len returns the number of entries, which is 1 for a value that is no list.
func (v Value) Len() int { return v.n }

// number returns entry i of a list of numbers, as an int64 or a float64.
func (v Value) number(i int) (whole int64, x float64, isWhole bool) {
	defer runtime.KeepAlive(v.from)
	b := v.raw[i*v.kind.size():]
	switch v.kind {
	case kindUint8, kindBool:
		whole = int64(b[0])
	case kindInt8:
		whole = int64(int8(b[0]))
	case kindUint16:
		whole = int64(binary.LittleEndian.Uint16(b))
	case kindInt16:
		whole = int64(int16(binary.LittleEndian.Uint16(b)))
	case kindUint32:
		whole = int64(binary.LittleEndian.Uint32(b))
	case kindInt32:
		whole = int64(int32(binary.LittleEndian.Uint32(b)))
	case kindUint64, kindInt64: // a uint64 from 2⁶³ on is negative: no caller takes one
		whole = int64(binary.LittleEndian.Uint64(b))
	case kindFloat32:
		return 0, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), false
	case kindFloat64:
		return 0, math.Float64frombits(binary.LittleEndian.Uint64(b)), false
	}
	return whole, float64(whole), true
}

func (v Value) numeric() bool { return v.kind.size() > 0 && v.kind != kindBool }

// Int returns a whole number from 0 to 2³¹−1.
func (v Value) Int() (int, error) {
	if whole, _, ok := v.one(v.numeric()); ok && whole >= 0 && whole <= math.MaxInt32 {
		return int(whole), nil
	}
	return 0, errors.Errorf("got %s, want a whole number from 0 to 2³¹−1", v)
}

// Float returns a number.
func (v Value) Float() (float64, error) {
	if v.list || !v.numeric() || v.n != 1 {
		return 0, errors.Errorf("got %s, want a number", v)
	}
	_, x, _ := v.number(0)
	return x, nil
}

// Bool returns a truth value.
func (v Value) Bool() (bool, error) {
	if whole, _, ok := v.one(v.kind == kindBool); ok {
		return whole != 0, nil
	}
	return false, errors.Errorf("got %s, want true or false", v)
}

func (v Value) one(kind bool) (whole int64, x float64, ok bool) {
	if v.list || !kind || v.n != 1 {
		return 0, 0, false
	}
	return v.number(0)
}

// Text returns a string.
func (v Value) Text() (string, error) {
	if v.list || v.kind != kindString || v.n != 1 {
		return "", errors.Errorf("got %s, want a string", v)
	}
	defer runtime.KeepAlive(v.from)
	return string(v.raw[8:]), nil
}

// Strings returns the entries of a list of strings.
func (v Value) Strings() ([]string, error) {
	if !v.list || v.kind != kindString {
		return nil, errors.Errorf("got %s, want a list of strings", v)
	}
	defer runtime.KeepAlive(v.from)
	list, all := make([]string, 0, v.n), string(v.raw) // one allocation for all strings
	for at := 0; at < len(v.raw); {
		n := int(binary.LittleEndian.Uint64(v.raw[at:]))
		list = append(list, all[at+8:at+8+n])
		at += 8 + n
	}
	return list, nil
}

// Ints returns the entries of a list of whole numbers.
func (v Value) Ints() ([]int, error) {
	if !v.list || !v.numeric() || v.kind == kindFloat32 || v.kind == kindFloat64 {
		return nil, errors.Errorf("got %s, want a list of whole numbers", v)
	}
	list := make([]int, v.n)
	for i := range list {
		whole, _, _ := v.number(i)
		list[i] = int(whole)
	}
	return list, nil
}

// Floats returns the entries of a list of numbers.
func (v Value) Floats() ([]float64, error) {
	if !v.list || !v.numeric() {
		return nil, errors.Errorf("got %s, want a list of numbers", v)
	}
	list := make([]float64, v.n)
	for i := range list {
		_, list[i], _ = v.number(i)
	}
	return list, nil
}

// String returns the value as text, shortened.
func (v Value) String() string {
	defer runtime.KeepAlive(v.from)
	switch {
	case v.list:
		return fmt.Sprintf("a list of %d × %s", v.n, v.kind)
	case v.n != 1:
		return "no value"
	case v.kind == kindString:
		return fmt.Sprintf("%.80q", v.raw[8:])
	case v.kind == kindBool:
		return fmt.Sprint(v.raw[0] != 0)
	case v.kind == kindFloat32: // in its shortest form
		return strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(v.raw))), 'g', -1, 32)
	case v.kind == kindUint64:
		return fmt.Sprint(binary.LittleEndian.Uint64(v.raw))
	}
	whole, x, ok := v.number(0)
	if ok {
		return fmt.Sprint(whole)
	}
	return fmt.Sprint(x)
}

// OfInt returns a uint32. A number outside of its range is an error when it is written.
func OfInt(n int) Value {
	if n < 0 || uint64(n) > math.MaxUint32 {
		return Value{kind: kindUint32}
	}
	return Value{kind: kindUint32, n: 1, raw: binary.LittleEndian.AppendUint32(nil, uint32(n))}
}

// OfFloat returns a float32.
func OfFloat(x float64) Value {
	return Value{kind: kindFloat32, n: 1, raw: binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(x)))}
}

// OfBool returns a truth value.
func OfBool(b bool) Value {
	raw := []byte{0}
	if b {
		raw[0] = 1
	}
	return Value{kind: kindBool, n: 1, raw: raw}
}

// OfText returns a string.
func OfText(s string) Value { return Value{kind: kindString, n: 1, raw: appendString(nil, s)} }

// OfStrings returns a list of strings.
func OfStrings(list []string) Value {
	v := Value{kind: kindString, list: true, n: len(list)}
	for _, s := range list {
		v.raw = appendString(v.raw, s)
	}
	return v
}

// OfInts returns a list of int32, to which the numbers are cut.
func OfInts(list []int) Value {
	v := Value{kind: kindInt32, list: true, n: len(list), raw: make([]byte, 0, 4*len(list))}
	for _, n := range list {
		v.raw = binary.LittleEndian.AppendUint32(v.raw, uint32(int32(n)))
	}
	return v
}

// OfFloats returns a list of float32.
func OfFloats(list []float32) Value {
	v := Value{kind: kindFloat32, list: true, n: len(list), raw: make([]byte, 0, 4*len(list))}
	for _, x := range list {
		v.raw = binary.LittleEndian.AppendUint32(v.raw, math.Float32bits(x))
	}
	return v
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(slices.Grow(b, 8+len(s)), uint64(len(s))), s...)
}
