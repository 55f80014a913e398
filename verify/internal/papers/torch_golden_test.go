package papers

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// torchModel reads the model and PyTorch's results for it.
func torchModel(t *testing.T, name string) (m verify.Model, want judged, losses32 []float64) {
	t.Helper()
	metadata, tensors := torchFile(t, name)
	c, err := gpt.ReadConfig(strings.NewReader(metadata["config"]), gpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m = verify.Model{Config: c.Resolved(), Parameters: parameters{}}
	want = judged{gradients: parameters{}}
	for key, x := range tensors {
		switch part, parameter, _ := strings.Cut(key, "/"); part {
		case "tokens":
			m.Tokens = integers(x)
		case "targets":
			m.Targets = integers(x)
		case "parameters":
			m.Parameters[parameter] = x
		case "gradients":
			want.gradients[parameter] = x
		case "logits":
			want.logits = x
		case "losses":
			want.losses = x.Data
		case "norms":
			want.norms = x.Data
		case "losses_float32":
			losses32 = x.Data
		default:
			t.Fatalf("%s: got a tensor %s, want none", torchPath(name), key)
		}
	}
	if len(want.losses) != 11 || len(want.norms) != 10 || len(losses32) != 11 {
		t.Fatalf("%s: got %d losses, %d norms, %d losses_float32, want 11, 10, 11",
			torchPath(name), len(want.losses), len(want.norms), len(losses32))
	}
	return m, want, losses32
}

func integers(x matrix) (list []int) {
	for _, v := range x.Data {
		list = append(list, int(v))
	}
	return list
}

func torchPath(name string) string { return filepath.Join("testdata", "torch_"+name+".safetensors") }

// torchFile reads a safetensors file: the length of the header, the header, the numbers, each byte once. It does not
// use the library's reader, so that the reference does not depend on the tested code.
func torchFile(t *testing.T, name string) (metadata map[string]string, tensors map[string]matrix) {
	t.Helper()
	path := torchPath(name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run %s", err, torchCommand)
	}
	header := map[string]json.RawMessage{}
	var size uint64
	if len(data) >= 8 {
		size = binary.LittleEndian.Uint64(data)
	}
	if size == 0 || size > uint64(len(data)-8) {
		t.Fatalf("%s: %d bytes with a header of %d", path, len(data), size)
	}
	text, data := data[8:8+size], data[8+size:]
	if err := json.Unmarshal(text, &header); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := json.Unmarshal(header["__metadata__"], &metadata); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	delete(header, "__metadata__")
	tensors, read := map[string]matrix{}, 0
	for key, text := range header {
		var entry struct {
			Dtype   string
			Shape   []int
			Offsets [2]int `json:"data_offsets"`
		}
		err := json.Unmarshal(text, &entry)
		from, to := entry.Offsets[0], entry.Offsets[1]
		if err != nil || from < 0 || from > to || to > len(data) {
			t.Fatalf("%s: %s: %s of %d bytes: %v", path, key, text, len(data), err)
		}
		read += to - from
		rows, cols := matrixShape(entry.Shape)
		if tensors[key] = hand.NewMatrix(rows, cols, numbers(t, entry.Dtype, data[from:to])...); tensors[key].Err != nil {
			t.Fatalf("%s: %s: %v", path, key, tensors[key].Err)
		}
	}
	if read != len(data) {
		t.Fatalf("%s: the tensors have %d bytes, the file %d", path, read, len(data))
	}
	return metadata, tensors
}

// numbers decodes little-endian bytes.
func numbers(t *testing.T, dtype string, data []byte) (list []float64) {
	t.Helper()
	into := map[string]any{"F64": make([]float64, len(data)/8), "F32": make([]float32, len(data)/4), "I64": make([]int64, len(data)/8)}[dtype]
	if _, err := binary.Decode(data, binary.LittleEndian, into); err != nil {
		t.Fatalf("%s: %v", dtype, err)
	}
	switch into := into.(type) {
	case []float64:
		list = into
	case []float32:
		for _, v := range into {
			list = append(list, float64(v))
		}
	case []int64:
		for _, v := range into {
			list = append(list, float64(v))
		}
	}
	return list
}
