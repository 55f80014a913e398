package lab

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// WriteEvents writes a folder for every trial, with the curve and the loss of the trial as a file of TensorBoard's
// events. An event is a protobuf of a time, a step and a scalar: the time is 0, so that the files have equal bits.
func (r *Report) WriteEvents(dir string) error {
	if err := r.writable(dir); err != nil {
		return err
	}
	for _, t := range r.Trials {
		name := strings.Join([]string{t.Arm, t.Setting, "seed " + strconv.FormatUint(t.Seed, 10)}, " ")
		folder := filepath.Join(dir, safe(t.Text), safe(name))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		err := file.Replace(filepath.Join(folder, "events.out.tfevents.0.lab"), func(w io.Writer) error {
			_, err := w.Write(events(t))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// safe returns a text as the name of a file.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}

// events returns the records of a trial.
func events(t *Trial) []byte {
	data := appendRecord(nil, append(appendDouble(nil, 1, 0), appendField(nil, 3, "brain.Event:2")...))
	for _, p := range t.Result.Curve {
		data = appendRecord(data, scalar(p.Step, "train", p.Train))
		data = appendRecord(data, scalar(p.Step, "val", p.Val))
	}
	if t.Result.Diverged == 0 {
		data = appendRecord(data, scalar(t.Result.Steps, "loss", t.Result.Loss))
	}
	return data
}

// scalar returns an Event: wall_time 1, step 2, summary 5 {value 1 {tag 1, simple_value 2}}.
func scalar(step int, tag string, x float64) []byte {
	value := appendField(nil, 1, tag)
	value = append(value, 2<<3|5)
	value = binary.LittleEndian.AppendUint32(value, math.Float32bits(float32(x)))
	event := append(appendDouble(nil, 1, 0), 2<<3)
	event = binary.AppendUvarint(event, uint64(step))
	return appendField(event, 5, string(appendField(nil, 1, string(value))))
}

// appendDouble appends a field of 64 bits of a protobuf.
func appendDouble(b []byte, number byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(append(b, number<<3|1), math.Float64bits(x))
}

// appendField appends a field of bytes of a protobuf.
func appendField(b []byte, number byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, number<<3|2), uint64(len(s))), s...)
}

// appendRecord appends a TFRecord: the length, its masked CRC-32C, the data, their masked CRC-32C.
func appendRecord(b, data []byte) []byte {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(append(b, length...), masked(length))
	return binary.LittleEndian.AppendUint32(append(b, data...), masked(data))
}

// masked returns the CRC-32C of data as TFRecord stores it, rotated: a record may hold a CRC itself.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
