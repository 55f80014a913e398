package safetensors

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzRead checks that the reader never panics, and that accepted files can be written and read again with the same
// bytes.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, sample(), map[string]string{"format": "pt"}))
	f.Add(encode(f, nil, nil))
	f.Add(
		file(
			`{"b":{"dtype":"BOOL","shape":[1],"data_offsets":[2,3]},"h":{"dtype":"F16","shape":[1,1],"data_offsets":[0,2]}} `,
			0, 0x3c, 1,
		),
	)
	f.Add(file(`{"\u00e9\ud83d\ude00":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, 0x80, 0x3f))
	for _, data := range hostile() {
		if len(data) < 300 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var all []Tensor
		var meta map[string]string
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { all, meta, err = Read(data) })
		if err != nil {
			return
		}
		var tensors []Tensor // those with values
		for _, x := range all {
			if n, err := size(x.Shape); err != nil || (x.F32 != nil && len(x.F32) != n) || (x.F64 != nil &&
				len(x.F64) != n) {
				t.Fatalf("tensor %q: shape %v, %d values: %v", x.Name, x.Shape, len(x.F32)+len(x.F64), err)
			}
			if x.F32 != nil || x.F64 != nil {
				tensors = append(tensors, x)
			}
		}
		first := encode(t, tensors, meta)
		again, meta2, err := Read(first)
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		second := encode(t, again, meta2)
		if len(first) != len(second) || !bytes.Equal(first[:8], second[:8]) {
			t.Fatalf("written twice: %d and %d bytes", len(first), len(second))
		}
		n := 8 + binary.LittleEndian.Uint64(first)
		if !bytes.Equal(first[n:], second[n:]) {
			t.Fatal("the values changed")
		}
	})
}
