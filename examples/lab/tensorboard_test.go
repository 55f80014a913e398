package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fields reads a protobuf: the values by number, as text, and numbers as they are stored.
func fields(t *testing.T, b []byte) map[int][]byte {
	t.Helper()
	found := map[int][]byte{}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		size := 0
		switch key & 7 {
		case 0:
			_, size = binary.Uvarint(b)
		case 1:
			size = 8
		case 2:
			length, n := binary.Uvarint(b)
			b, size = b[n:], int(length)
		case 5:
			size = 4
		default:
			t.Fatalf("got the wire type %d", key&7)
		}
		found[int(key>>3)], b = b[:size], b[size:]
	}
	return found
}

// The event files read back to the curve and the loss of each trial; the first bytes are those of TensorFlow's own
// files, and the checksum is that of the published vector.
func TestTensorBoard(t *testing.T) {
	if got, want := masked([]byte("123456789")), uint32(0xc78ab0e5); got != want { // of the CRC-32C 0xe3069283
		t.Errorf("masked: got %#x, want %#x", got, want)
	}
	dir := t.TempDir()
	s := measured(t, quick(t, "-arms", "norm=rmsnorm", "-tensorboard", dir)...)
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	if err != nil || len(files) != 4 {
		t.Fatalf("got %q, %v, want four files", files, err)
	}
	data, err := os.ReadFile(
		filepath.Join(
			dir, filepath.Base(filepath.Dir(filepath.Dir(files[0]))), "norm=rmsnorm seed 1338", filepath.Base(files[0]),
		),
	)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte("\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09"); !bytes.HasPrefix(data, want) {
		t.Errorf("got % x, want % x", data[:len(want)], want)
	}
	var got []string
	for len(data) > 0 {
		n := binary.LittleEndian.Uint64(data)
		if crc := binary.LittleEndian.Uint32(data[8:]); crc != masked(data[:8]) {
			t.Fatalf("length %d: got the checksum %#x, want %#x", n, crc, masked(data[:8]))
		}
		event := data[12 : 12+n]
		if crc := binary.LittleEndian.Uint32(data[12+n:]); crc != masked(event) {
			t.Fatalf("data: got the checksum %#x, want %#x", crc, masked(event))
		}
		data = data[16+n:]
		f := fields(t, event)
		if f[5] == nil {
			got = append(got, string(f[3]))
			continue
		}
		step, _ := binary.Uvarint(f[2])
		value := fields(t, fields(t, f[5])[1])
		got = append(
			got,
			fmt.Sprintf("%s at %d: %.4f", value[1], step, math.Float32frombits(binary.LittleEndian.Uint32(value[2]))),
		)
	}
	if len(got) != 6 || got[0] != "brain.Event:2" || got[4][:8] != "val at 6" || got[5][:10] != "loss at 6:" {
		t.Errorf("got %q of %+v", got, s.Tables[0].Rows)
	}
	var mean float64
	if _, err := fmt.Sscanf(got[5], "loss at 6: %f", &mean); err != nil ||
		math.Abs(mean-s.Tables[0].Rows[1].Loss) > 0.1 {
		t.Error(cmp.Diff(s.Tables[0].Rows[1].Loss, mean))
	}
}
