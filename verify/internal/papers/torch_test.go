package papers

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/verify"
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
		t.Run(name+"/reference", func(t *testing.T) { judge(t, m, judgedForm(t, m, reference, len(want.norms)), want, torchFloat64) })
		t.Run(name+"/kernels", func(t *testing.T) { judge(t, m, judgedForm(t, m, kernels64, len(want.norms)), want, torchFloat64) })
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
			t.Errorf("%s: written by the script with hash %s, want %s; run %s", torchPath(name), got, want, torchCommand)
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
		t.Fatalf("logits: got (%d, %d), want (%d, %d)", got.logits.Rows, got.logits.Cols, want.logits.Rows, want.logits.Cols)
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
			t.Errorf("%s after %d steps: got %v, PyTorch %v: distance %.1e, want %.0e at most; the files are written by %s",
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
	o, err := optim.NewAdamW(model.Trainable())
	check(err)
	c := m.Config
	o.Beta1, o.Beta2, o.Decay, o.Clip = c.Beta1, c.Beta2, c.WeightDecay, c.GradClip
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
