package train

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/graph"
)

func contains(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

// nanoGPT's schedule: up along a line, down along half a cosine, then level.
func TestRateAt(t *testing.T) {
	training := Training{LearningRate: 8, MinLR: 2, DecayLR: true, WarmupIters: 3, LRDecayIters: 11}
	for it, want := range map[int]float64{0: 2, 1: 4, 2: 6, 3: 8, 5: 2 + 6*(1+math.Sqrt2/2)/2, 7: 5, 9: 2 +
		6*(1-math.Sqrt2/2)/2, 11: 2, 12: 2, 99: 2} {
		if got := training.RateAt(it); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("iteration %d: got %v, want %v", it, got, want)
		}
	}
	for _, c := range []struct {
		training Training
		want     string
	}{
		{training, ""},
		{
			Training{DecayLR: true, LRDecayIters: 3, WarmupIters: 3},
			"lr_decay_iters: got 3, want more than warmup_iters 3",
		},
		{Training{DecayLR: true, LRDecayIters: 4, WarmupIters: 3, MinLR: 2, LearningRate: 2}, ""},
		{
			Training{DecayLR: true, LRDecayIters: 4, WarmupIters: 3, MinLR: 2, LearningRate: 1},
			"min_lr: got 2, want at most learning_rate 1",
		},
		{Training{LRDecayIters: 3, WarmupIters: 3, MinLR: 2}, ""},
		{Training{Precision: "bf16", Kernels: true}, ""},
		{Training{Precision: "float32"}, ""},
		{
			Training{Precision: "bf16"},
			"precision: got bf16 with kernels false, want float32: the reference does not round",
		},
	} {
		if err := c.training.Check(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%+v: got error %v, want %q", c.training, err, c.want)
		}
	}
}

// Every field has its range: counts begin at 1, and optional values at 0.
func TestFieldsAtTheirBorders(t *testing.T) {
	training := Training{BatchSize: 1, GradientAccumulationSteps: 1, LearningRate: 1e-300, Optimizer: "sgd"}
	run := Run{EvalInterval: 1, EvalIters: 1, LogInterval: 1}
	fields := Fields(&training, &run, []string{"adamw", "sgd"}, []string{"cosine"})
	if err := fields.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(){
		"batch_size": func() {
			training.BatchSize = 0
		}, "gradient_accumulation_steps": func() { training.GradientAccumulationSteps = 0 },
		"learning_rate": func() { training.LearningRate = 0 }, "max_iters": func() { run.MaxIters = -1 },
		"optimizer": func() { training.Optimizer = "mine" }, "weight_decay": func() { training.WeightDecay = -1 },
		"beta1": func() { training.Beta1 = 1 },
		"beta2": func() { training.Beta2 = 1 }, "grad_clip": func() { training.GradClip = -1 },
		"warmup_iters":   func() { training.WarmupIters = -1 },
		"lr_decay_iters": func() { training.LRDecayIters = -1 }, "min_lr": func() { training.MinLR = -1 },
		"eval_interval": func() { run.EvalInterval = 0 },
		"eval_iters":    func() { run.EvalIters = 0 }, "log_interval": func() { run.LogInterval = 0 },
		"threads": func() { run.Threads = 4097 },
	} {
		keepTraining, keepRun := training, run
		change()
		contains(t, fields.Check(), name+": got ")
		training, run = keepTraining, keepRun
	}
}

// named returns a tensor of one row.
func named(name string, x ...float32) Named {
	return Named{Name: name, Tensor: graph.Tensor{Shape: []int{1, len(x)}, F32: x}}
}

// Written tensors are read and restored by their names, in either type. Tensors that do not fit change nothing.
func TestTensors(t *testing.T) {
	to := []Named{named("b", 0), {Name: "a", Tensor: graph.Tensor{Shape: []int{1, 2}, F64: make([]float64, 2)}}}
	if err := Restore(to, filed(t, named("a", 1, 2), named("b", 3))); err != nil || to[0].At(0) != 3 ||
		to[1].At(0) != 1 || to[1].At(1) != 2 {
		t.Errorf("got %v and %v, error %v", to[0].Floats(), to[1].Floats(), err)
	}
	nan := float32(math.NaN())
	for want, tc := range map[string]struct{ to, found []Named }{
		"b is missing":                            {[]Named{named("a", 9), named("b", 9)}, []Named{named("a", 1)}},
		"the file has c, the model does not":      {[]Named{named("a", 9)}, []Named{named("a", 1), named("c", 1)}},
		"a has shape [1 2] in the file, [1 1] in": {[]Named{named("a", 9)}, []Named{named("a", 1, 2)}},
		"a: entry 0 is +Inf": {
			[]Named{named("a", 9)},
			[]Named{{Name: "a", Tensor: graph.Tensor{Shape: []int{1, 1}, F64: []float64{1e300}}}},
		},
	} {
		contains(t, Restore(tc.to, filed(t, tc.found...)), want)
		if tc.to[0].At(0) != 9 {
			t.Errorf("%s: yet a is %v", want, tc.to[0].At(0))
		}
	}
	twice, ab := filed(t, named("a", 1)), []Named{named("a", 9), named("b", 9)}
	twice.Entries = append(twice.Entries, twice.Entries[0]) // as a prefix that is dropped makes it
	contains(t, Restore(ab[:1], twice), "the file has a twice")
	var b bytes.Buffer
	if err := WriteTensors(&b, []Named{named("a", 1), named("b", 7)}, nil, ""); err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Clone(b.Bytes())
	copy(damaged[len(damaged)-4:], "\xff\xff\xff\xff")
	contains(t, Restore(ab, opened(t, damaged)), "b: entry 0 is NaN")
	contains(
		t, Restore(ab, opened(t, bytes.Replace(b.Bytes(), []byte("F32"), []byte("I32"), 1))),
		"a holds 0 floating-point numbers",
	)
	if ab[0].At(0) != 9 {
		t.Errorf("a is %v, want 9 as before", ab[0].At(0))
	}
	contains(t, WriteTensors(&b, []Named{named("a", 1), named("b", nan)}, nil, ""), "b: entry 0 is NaN")
	_, err := OpenTensors(save(t, 1, checkpoint.File{Name: "x", Write: WriteBytes([]byte("nothing"))}), "x")
	contains(t, err, "x: safetensors")
}

// A matrix that is transposed in the file is transposed when it is read and written, also in many pieces.
func TestTurned(t *testing.T) {
	const rows, cols = 37, 1009 // more than are read at once
	x := graph.Tensor{Shape: []int{rows, cols}, F32: make([]float32, rows*cols)}
	for i := range x.F32 {
		x.F32[i] = float32(i)
	}
	f := filed(t, Named{Name: "x", Tensor: x, View: turned(rows, cols)})
	if got := f.Entries[0].Shape; !slices.Equal(got, []int{cols, rows}) {
		t.Errorf("in the file its shape is %v", got)
	}
	for again, at := range map[bool]int{true: 5*cols + 3, false: 3*rows + 5} {
		y := Named{Name: "x", Tensor: graph.Tensor{Shape: []int{cols, rows}, F32: make([]float32, rows*cols)}}
		if again {
			y.Shape, y.View = []int{rows, cols}, turned(rows, cols)
		}
		if err := Restore([]Named{y}, f); err != nil || y.At(at) != 5*cols+3 {
			t.Errorf("turned again %v: entry %d is %v, %v, want %d", again, at, y.At(at), err, 5*cols+3)
		}
	}
}

// turned returns the View of a matrix that is transposed in its file.
func turned(rows, columns int) View { return View{[]int{columns, rows}, 0, 1, rows} }

// filed returns a file of these tensors.
func filed(t *testing.T, list ...Named) *safetensors.File {
	t.Helper()
	var b bytes.Buffer
	tensors := make([]safetensors.Tensor, len(list))
	for i, x := range list {
		tensors[i], _ = Parts{x}.joined(x.dtype()) // also what is not finite
		tensors[i].Name, tensors[i].Shape = x.Name, x.shape()
	}
	if err := safetensors.Write(&b, tensors, nil); err != nil {
		t.Fatal(err)
	}
	return opened(t, b.Bytes())
}

func opened(t *testing.T, data []byte) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// save returns a checkpoint of these files.
func save(t *testing.T, step int, files ...checkpoint.File) *checkpoint.Checkpoint {
	t.Helper()
	path := t.TempDir()
	dir, err := checkpoint.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Save(step, files); err != nil {
		t.Fatal(err)
	}
	cp, err := checkpoint.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return cp
}

// A restored Core continues where the other one was saved: steps done, best loss, moments, and dropout of the same
// steps.
func TestRestore(t *testing.T) {
	training := Training{LearningRate: 0.1, GradientAccumulationSteps: 1, Beta1: .9, Beta2: .99}
	x := func(step, _ int) float64 { return float64(step) }
	core, w := descent(t, training, adamw, x)
	for range 3 {
		if _, err := core.Step(); err != nil {
			t.Fatal(err)
		}
	}
	core.Best = 1.5
	s, err := StateOf(core, 2, "config")
	if err != nil {
		t.Fatal(err)
	}
	cp := save(
		t, 3, checkpoint.File{Name: OptimizerFile, Write: core.writeMoments},
		checkpoint.File{Name: StateFile, Write: WriteJSON(s)},
	)
	var read State[string]
	if err := ReadState(cp, 1<<20, &read, 1, 2); err != nil {
		t.Fatal(err)
	}
	again, v := descent(t, training, adamw, x)
	copy(v.Tensor().F32, w.Tensor().F32)
	if err := read.Restore(again, cp); err != nil || again.Done != 3 || again.Best != 1.5 {
		t.Fatalf("got %d steps and best %v, error %v", again.Done, again.Best, err)
	}
	for _, c := range []*Core{core, again} {
		if _, err := c.Step(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(v.Tensor().F32, w.Tensor().F32) {
		t.Errorf("goes on to %v, want %v", v.Tensor().F32, w.Tensor().F32)
	}
	contains(t, read.Check(cp, 3, 1), "format 2, this program reads 3")
	read.Step = 4
	contains(t, read.Check(cp, 2), "says step 4, its directory step 3")
	contains(t, ReadState(cp, 9, &read, 2), "want at most 9")
	again.Done = 5
	contains(t, read.Restore(again, cp), "got a Core at step 5, want a new one")
	contains(t, read.Restore(new(Core), cp), "got no Core, want one from New")
	restored := func(cp *checkpoint.Checkpoint, change ...func(*Task)) error {
		fresh, _ := descent(t, training, adamw, x, change...)
		return read.Restore(fresh, cp)
	}
	for step, want := range map[int]string{-1: "got a state of step -1, want 0 to", field.MaxSize + 1: "want 0 to"} {
		read.Step = step
		contains(t, restored(cp), want)
	}
	read.Step = field.MaxSize
	if err := restored(cp); err != nil {
		t.Errorf("the last step: %v", err)
	}
	read.Step = 4
	contains(t, restored(cp, func(task *Task) { task.Corpus = func() string { return "cow" } }),
		"trained on data with sha256 , this has cow")
	contains(t, restored(save(t, 3, checkpoint.File{Name: StateFile, Write: WriteJSON(s)})), OptimizerFile)
	contains(
		t, restored(save(t, 3, checkpoint.File{Name: OptimizerFile, Write: WriteBytes([]byte("x"))})),
		OptimizerFile+": safetensors: got 1 bytes",
	)
	only := func(name string) checkpoint.File {
		var b bytes.Buffer
		if err := WriteTensors(&b, []Named{named(name, 1, 2)}, nil, ""); err != nil {
			t.Fatal(err)
		}
		return checkpoint.File{Name: OptimizerFile, Write: WriteBytes(b.Bytes())}
	}
	contains(t, restored(save(t, 3, only("m.w"))), "v.w is missing")
	contains(t, restored(cp, func(task *Task) { task.Batches = new(rand.PCG) }), StateFile+": invalid PCG encoding")
	contains(t, WriteJSON(math.NaN())(&bytes.Buffer{}), "NaN")
	var largest bytes.Buffer
	// two quotes and a line feed
	if err := WriteJSON(strings.Repeat("a", MaxJSON-3))(&largest); err != nil || largest.Len() != MaxJSON {
		t.Errorf("got %d bytes and error %v, want %d", largest.Len(), err, MaxJSON)
	}
	contains(t, WriteJSON(strings.Repeat("a", MaxJSON-2))(&bytes.Buffer{}), "got 4194305 bytes, want at most 4194304")
	contains(
		t,
		ReadJSON(
			save(t, 3, checkpoint.File{Name: StateFile, Write: WriteBytes([]byte(`{"stop":1}`))}), StateFile, 1<<20,
			&read,
		),
		"stop",
	)
	contains(
		t,
		ReadJSON(save(t, 3, checkpoint.File{Name: StateFile, Write: WriteBytes([]byte(`{} {}`))}), StateFile, 5, &read),
		"line 1, column 4: invalid character '{' after top-level value",
	)
	contains(t, ReadJSON(cp, StateFile, 9, &read), "want at most 9")
	contains(t, ReadJSON(cp, "none", 1, &read), "none")
}

// A checkpoint fits if its weights have the numbers that are wanted, and its optimizer's file at most what belongs to
// them.
func TestFit(t *testing.T) {
	file := func(name string, list ...Named) checkpoint.File {
		var b bytes.Buffer
		if err := WriteTensors(&b, list, nil, ""); err != nil {
			t.Fatal(err)
		}
		return checkpoint.File{Name: name, Write: WriteBytes(b.Bytes())}
	}
	weights := file(WeightsFile, named("a", 1, 2), named("b", 3))
	none := func(safetensors.Entry) bool { return false }
	for _, c := range []struct {
		numbers float64
		want    string
		files   []checkpoint.File
	}{
		{3, "", nil}, {4, "got 3 numbers, want 4", nil},
		{3, "", []checkpoint.File{file(OptimizerFile, named("m.a", 1, 2), named("v.b", 3), named("s.a", 1, 2, 3, 4))}},
		{3, "m.a: got 3 numbers, want at most 2", []checkpoint.File{file(OptimizerFile, named("m.a", 1, 2, 3))}},
		{3, "s.a: got 5 numbers, want at most 4", []checkpoint.File{file(OptimizerFile, named("s.a", 1, 2, 3, 4, 5))}},
		{3, "m.c: got 1 numbers, want at most 0", []checkpoint.File{file(OptimizerFile, named("m.c", 1))}},
		{
			3, OptimizerFile + ": safetensors: got 1 bytes",
			[]checkpoint.File{{Name: OptimizerFile, Write: WriteBytes([]byte("x"))}},
		},
	} {
		err := Fit(save(t, 3, append(c.files, weights)...), c.numbers, nil, none)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got error %v, want %q", err, c.want)
		}
	}
	if err := Fit(save(t, 3, weights), 1, nil, func(e safetensors.Entry) bool { return e.Name == "a" }); err != nil {
		t.Errorf("without a: %v", err)
	}
	contains(t, Fit(save(t, 3, file(OptimizerFile)), 0, nil, none), WeightsFile)
	blocks := file(WeightsFile, named("h.0.c.weight", 1, 2), named("h.0.c.bias", 3), named("h.1.c.weight", 4))
	for want, layers := range map[string]map[string]float64{
		"; layer h.0.c: got 3, want 5":  {"h.0.c": 5, "h.1.c": 1},
		"; layer h.2.c: got 0, want 6":  {"h.0.c": 3, "h.1.c": 1, "h.2.c": 6},
		"; layer h.1.c: got 1, want no": {"h.0.c": 3},
	} {
		contains(t, Fit(save(t, 3, blocks), 10, layers, none), "got 4 numbers, want 10 for this configuration"+want)
	}
}

// A rank that has a part of a tensor takes it from the parts in which the file is read, wherever they begin.
func TestPutsItsPart(t *testing.T) {
	own := named("a", 0, 0, 0, 0)
	own.first = 10
	for at := 0; at < 20; at += 4 {
		part := make([]float32, 4)
		for i := range part {
			part[i] = float32(at + i)
		}
		own.put(at, safetensors.Tensor{F32: part})
	}
	if want := []float32{10, 11, 12, 13}; !slices.Equal(own.F32, want) {
		t.Errorf("got %v, want %v", own.F32, want)
	}
}

// A step ends with an error of the batch or of accumulating the gradients. Dropout draws anew for every micro-batch.
func TestStepErrorsAndDropout(t *testing.T) {
	boom := errors.New("boom")
	var masks []float64
	var w graph.Expr
	fail := false
	core, err := New(Training{LearningRate: 1, GradientAccumulationSteps: 2, Optimizer: "sgd"}, Run{Threads: 1}, Task{
		Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			w = g.Root().Param("w", graph.Const(1), 1, 64)
			return w.Dropout(0.5).Square().SumAll(), g.Params(), nil
		},
		Fill: func(_, micro int) (int, error) {
			if fail && micro == 1 {
				return 0, boom
			}
			return 1, nil
		},
		Optimizer: adamw,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for i := range 64 {
			w.Tensor().Set(i, float64(i+1))
		}
		p, err := core.Step()
		if err != nil {
			t.Fatal(err)
		}
		if masks = append(masks, p.Loss); slices.Contains(masks[:len(masks)-1], p.Loss) {
			t.Errorf("steps drop the same entries: losses %v", masks)
		}
	}
	for i := range 64 {
		w.Tensor().Set(i, 1)
	}
	if loss, err := lossNow(t.Context(), core); err != nil || loss != 64 {
		t.Errorf("evaluated to %v, error %v, want 64, without dropout", loss, err)
	}
	if p, err := core.Step(); err != nil || p.Loss == 64 || p.Loss == 0 {
		t.Errorf("after an evaluation: got loss %v (%v), want one with dropout", p.Loss, err)
	}
	fail = true
	if _, err := core.Step(); !errors.Is(err, boom) || core.Done != 4 {
		t.Errorf("got error %v after %d steps", err, core.Done)
	}
}

// Micro-batches are numbered through the run: each drops the same entries as a step with its number.
func TestMicroBatchesDropAnew(t *testing.T) {
	losses := func(micro, steps int) (list []float64) {
		var w graph.Expr
		core, err := New(Training{GradientAccumulationSteps: micro, Optimizer: "sgd"}, Run{Threads: 1}, Task{
			Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
				w = g.Root().Param("w", graph.Normal(1), 1, 64)
				return w.Dropout(0.5).Square().SumAll(), g.Params(), nil
			},
			Fill: func(int, int) (int, error) { return 1, nil }, Optimizer: adamw,
		})
		if err != nil {
			t.Fatal(err)
		}
		for range steps { // at a rate of 0: the weights stay
			p, err := core.Step()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p.Loss)
		}
		return list
	}
	one := losses(1, 6)
	for step, got := range losses(3, 2) {
		if want := one[3*step]/3 + one[3*step+1]/3 + one[3*step+2]/3; !(math.Abs(got-want) <= 1e-12*want) {
			t.Errorf("step %d: got loss %v, want %v of %v", step, got, want, one)
		}
	}
}

// A loss of −∞ is refused. The program of the loss is compiled once.
func TestLossErrors(t *testing.T) {
	var x graph.Expr
	core, err := New(Training{GradientAccumulationSteps: 2, Optimizer: "mine"}, Run{Threads: 1}, Task{
		Build: func(g *graph.Graph) (graph.Expr, []graph.Expr, error) {
			w := g.Root().Param("w", graph.Const(2), 1, 2)
			x = g.Root().Value("x", graph.Const(1), 1, 2)
			return w.Mul(x).SumAll(), g.Params(), nil
		},
		Fill:      func(int, int) (int, error) { return 1, nil },
		Optimizer: sgd,
	})
	if err != nil {
		t.Fatal(err)
	}
	if loss, err := lossNow(t.Context(), core); err != nil || loss != 4 {
		t.Errorf("got loss %v, error %v", loss, err)
	}
	forward := core.forward
	x.Tensor().Set(0, math.Inf(-1))
	if _, err := lossNow(t.Context(), core); !errors.Is(err, graph.ErrNotFinite) {
		t.Errorf("a loss of −∞: got error %v", err)
	}
	if core.forward != forward {
		t.Error("the loss was compiled a second time")
	}
}

// Patience runs out at every multiple of it, and with it the state has the number of evaluations since the best.
func TestStalled(t *testing.T) {
	for patience, want := range map[int]string{0: "------", 1: "-+++++", 2: "--+-+-", 3: "---+--"} {
		core := &Core{limits: Run{Patience: patience}}
		got := ""
		for core.Since = range len(want) {
			got += map[bool]string{true: "+", false: "-"}[core.Stalled()]
		}
		if got != want {
			t.Errorf("patience %d: got %s, want %s", patience, got, want)
		}
	}
	if (*Core)(nil).Stalled() {
		t.Error("a nil Core has stalled")
	}
	for patience, want := range map[int]int{0: 0, 5: 4} {
		core, _ := descent(t, Training{GradientAccumulationSteps: 1}, sgd, func(int, int) float64 { return 0 })
		core.limits.Patience, core.Since = patience, 4
		if s, err := StateOf(core, 1, 0); err != nil || s.Since != want {
			t.Errorf("patience %d: the state has %d evaluations, %v, want %d", patience, s.Since, err, want)
		}
	}
}

// Rows in the middle of a large tensor of a file fill a tensor, also where the file is read in pieces, turned and with
// numbers that are shifted.
func TestFillFromRows(t *testing.T) {
	const rows, from, width = 9000, 2600, 3
	all := make([]float32, rows*width)
	for i := range all {
		all[i] = float32(i)
	}
	file := filed(t, Named{Name: "w", Tensor: graph.Tensor{Shape: []int{rows, width}, F32: all}})
	for _, n := range []int{1, 700, 5000, rows - from} {
		for _, shift := range []float64{0, 1} {
			for _, double := range []bool{false, true} {
				to := Named{
					Name: "w", View: View{[]int{rows, width}, from * width, width, 1}, Shift: shift,
					Tensor: graph.Tensor{Shape: []int{n, width}},
				}
				if double {
					to.F64 = make([]float64, n*width)
				} else {
					to.F32 = make([]float32, n*width)
				}
				if err := Fill([]Named{to}, file); err != nil {
					t.Fatal(err)
				}
				for i := range n * width {
					if got, want := to.At(i), float64(from*width+i)+shift; got != want {
						t.Fatalf(
							"%d rows, shift %v, float64 %t: entry %d: got %v, want %v", n, shift, double, i, got, want,
						)
					}
				}
			}
		}
	}
}

// Tensors that each fill some rows of a tensor of the file are written as one, and read from it.
func TestPartsOfAFile(t *testing.T) {
	for _, double := range []bool{false, true} {
		part := func(from int, x ...float64) Named {
			p := Named{
				Name: "w", View: View{[]int{6, 2}, 2 * from, 2, 1}, Tensor: graph.Tensor{Shape: []int{len(x) / 2, 2}},
			}
			for _, v := range x {
				if double {
					p.F64 = append(p.F64, v)
				} else {
					p.F32 = append(p.F32, float32(v))
				}
			}
			return p
		}
		var b bytes.Buffer
		if err := WriteTensors(&b, []Named{part(0, 1, 2), part(1, 3, 4, 5, 6), part(4, 7, 8)}, nil, ""); err != nil {
			t.Fatal(err)
		}
		list := []Named{{Name: "w", Tensor: graph.Tensor{Shape: []int{6, 2}, F64: make([]float64, 12)}}}
		if err := Fill(list, opened(t, b.Bytes())); err != nil {
			t.Fatal(err)
		}
		if want := []float64{1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}; !slices.Equal(list[0].F64, want) {
			t.Errorf("float64 %t: got %v, want %v", double, list[0].F64, want)
		}
	}
}
