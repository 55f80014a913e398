package lab

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
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

// The event files read back to the curve and the loss of each trial. The first bytes are the bytes of TensorFlow's
// files, and the checksum is the published vector's.
func TestWriteEvents(t *testing.T) {
	if got, want := masked([]byte("123456789")), uint32(0xc78ab0e5); got != want { // of the CRC-32C 0xe3069283
		t.Errorf("masked: got %#x, want %#x", got, want)
	}
	dir := t.TempDir()
	if err := reported().WriteEvents(dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "a_b.txt", "norm=rmsnorm seed 8", "events.out.tfevents.0.lab"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte("\x18\x00\x00\x00\x00\x00\x00\x00\xa3\x7f\x4b\x22\x09"); !bytes.HasPrefix(data, want) {
		t.Errorf("got % x, want % x", data[:len(want)], want)
	}
	want := []string{
		"brain.Event:2", "train at 3: 4.5", "val at 3: 4.75", "train at 6: 2.5", "val at 6: 3", "loss at 6: 3.25",
	}
	if got := readEvents(t, data); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	data, err = os.ReadFile(filepath.Join(dir, "a_b.txt", "norm=rmsnorm rate=2 seed 7", "events.out.tfevents.0.lab"))
	if err != nil {
		t.Fatal(err)
	}
	if got := readEvents(t, data); len(got) != 1 { // diverged
		t.Errorf("diverged: got %q, want no loss", got)
	}
	if err := (*Report)(nil).WriteEvents(dir); err == nil {
		t.Error("no report: want an error")
	}
}

// readEvents reads a file of events.
func readEvents(t *testing.T, data []byte) (list []string) {
	t.Helper()
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
			list = append(list, string(f[3]))
			continue
		}
		step, _ := binary.Uvarint(f[2])
		value := fields(t, fields(t, f[5])[1])
		list = append(list, fmt.Sprintf("%s at %d: %g", value[1], step,
			math.Float32frombits(binary.LittleEndian.Uint32(value[2]))))
	}
	return list
}
