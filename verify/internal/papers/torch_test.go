package papers

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// Tolerances of the comparison with PyTorch. A float32 model is compared with PyTorch's float32 losses, and with its
// float64 results otherwise.
const (
	torchFloat64 = 1e-12
	torchFloat32 = 1e-4
	torchCommand = "apt-get install python3-torch; /usr/bin/python3 verify/internal/papers/testdata/torch_golden.py"
)

func torchModels() []string { return []string{"nobias", "tied", "untied"} }

// judged holds the results that are compared with PyTorch.
type judged struct {
	logits        matrix
	gradients     parameters
	losses, norms []float64 // before the first and after each AdamW step; in each step, before clipping
}

// PyTorch agrees on the logits, the loss, every gradient, and ten steps of AdamW with decay and clipping: with the
// reference graph, with the kernels in both precisions and, except for the training, with the formulas by hand.
func TestTorchGolden(t *testing.T) {
	for _, name := range torchModels() {
		m, want, losses32 := torchModel(t, name)
		t.Run(name+"/hand", func(t *testing.T) {
			before := want
			before.losses, before.norms = want.losses[:1], nil
			judge(t, m, judgedByHand(t, m), before, torchFloat64)
		})
		t.Run(
			name+"/reference",
			func(t *testing.T) { judge(t, m, judgedForm(t, m, reference, len(want.norms)), want, torchFloat64) },
		)
		t.Run(
			name+"/kernels",
			func(t *testing.T) { judge(t, m, judgedForm(t, m, kernels64, len(want.norms)), want, torchFloat64) },
		)
		t.Run(name+"/float32", func(t *testing.T) {
			want := want
			want.losses = losses32
			judge(t, m, judgedForm(t, m, kernels32, len(want.norms)), want, torchFloat32)
		})
	}
}

// The committed files were written by the committed script.
func TestTorchGoldenIsCurrent(t *testing.T) {
	script, err := os.ReadFile("testdata/torch_golden.py")
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(script)
	want := hex.EncodeToString(hash[:])
	var files []string
	for _, name := range torchModels() {
		metadata, _ := torchFile(t, name)
		if got := metadata["script_sha256"]; got != want {
			t.Errorf(
				"%s: written by the script with hash %s, want %s; run %s", torchPath(name), got, want, torchCommand,
			)
		}
		if metadata["torch"] == "" || metadata["python"] == "" {
			t.Errorf("%s: got versions %q, %q, want both", torchPath(name), metadata["torch"], metadata["python"])
		}
		files = append(files, torchPath(name))
	}
	found, err := filepath.Glob(torchPath("*"))
	if diff := cmp.Diff(files, found); err != nil || diff != "" {
		t.Errorf("golden files (%v): -want +got\n%s", err, diff)
	}
}

// judge compares all results, with every parameter once.
func judge(t *testing.T, m verify.Model, got, want judged, tolerance float64) {
	t.Helper()
	if got.logits.Rows != want.logits.Rows || got.logits.Cols != want.logits.Cols {
		t.Fatalf(
			"logits: got (%d, %d), want (%d, %d)", got.logits.Rows, got.logits.Cols, want.logits.Rows, want.logits.Cols,
		)
	}
	logits := verify.Distance(got.logits, want.logits, 0)
	logits.Name = "logits"
	gradients, err := verify.Compare(got.gradients, want.gradients)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, d := range append(gradients, logits) {
		compared += len(got.gradients[d.Name].Data)
		if !(d.Distance <= tolerance) {
			t.Errorf("%s (%d, %d): got %v, PyTorch %v: distance %.1e, want %.0e at most; the files are written by %s",
				d.Name, d.Row, d.Col, d.Got, d.Want, d.Distance, tolerance, torchCommand)
		}
	}
	if total, _ := m.Config.Count(); int64(compared) != total {
		t.Errorf("compared %d gradients, want %d", compared, total)
	}
	losses := relative(t, "loss", got.losses, want.losses, tolerance)
	norms := relative(t, "norm", got.norms, want.norms, tolerance)
	worst := verify.Worst(gradients)
	t.Logf("logits %.1e, gradients %.1e (%s), %d losses %.1e, %d norms %.1e",
		logits.Distance, worst.Distance, worst.Name, len(want.losses), losses, len(want.norms), norms)
}

// relative returns the largest relative difference.
func relative(t *testing.T, what string, got, want []float64, tolerance float64) (worst float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d, want %d of them", what, len(got), len(want))
	}
	for step := range want {
		d := math.Abs(got[step]-want[step]) / math.Abs(want[step])
		if !(d <= tolerance) {
			t.Errorf("%s after %d steps: got %v, PyTorch %v: distance %.1e, want %.0e at most; the files are "+
				"written by %s",
				what, step, got[step], want[step], d, tolerance, torchCommand)
		}
		worst = max(worst, d)
	}
	return worst
}

func judgedByHand(t *testing.T, m verify.Model) judged {
	t.Helper()
	h := planOf(m)
	a, err := gptForward(h, m.Parameters, m.Tokens, m.Targets)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gptBackward(h, m.Parameters, m.Tokens, m.Targets)
	if err != nil {
		t.Fatal(err)
	}
	return judged{logits: a.Logits, gradients: g.Parameters, losses: a.Loss.Data}
}

// judgedForm computes the logits and the gradients, then trains for the given number of steps on the one batch.
func judgedForm(t *testing.T, m verify.Model, f form, steps int) judged {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	batch := len(m.Tokens) / m.Config.BlockSize
	forward, err := graph.Compile(built(t, m, f, batch).Logits)
	check(err)
	check(forward.Run())
	out := judged{logits: verify.FromTensor(forward.Value()), gradients: computedModel(t, m, f, nil).grads}

	model := built(t, m, f, batch) // a graph is differentiated once
	train, err := graph.Compile(model.Loss, model.Trainable()...)
	check(err)
	c := m.Config
	o, err := optim.New(model.Trainable(), optim.AdamW{Beta1: c.Beta1, Beta2: c.Beta2})
	check(err)
	o.Decay, o.Clip = c.WeightDecay, c.GradClip
	for range steps {
		check(train.Run())
		norm, err := o.Update(train, c.LearningRate)
		check(err)
		out.losses, out.norms = append(out.losses, train.Loss()), append(out.norms, norm)
	}
	check(train.Run())
	out.losses = append(out.losses, train.Loss())
	return out
}

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
		if tensors[key] = hand.NewMatrix(
			rows, cols, numbers(t, entry.Dtype, data[from:to])...,
		); tensors[key].Err != nil {
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
	into := map[string]any{
		"F64": make([]float64, len(data)/8), "F32": make([]float32, len(data)/4), "I64": make([]int64, len(data)/8),
	}[dtype]
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
