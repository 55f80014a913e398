// Gomlx trains a GPT with GoMLX's back end in Go, for `bench -compare N -gomlx DIR`, which builds and runs it. It is a
// module of its own, so that the library does not depend on GoMLX.
//
// It reads a line of JSON with the sizes and the weights of a network with norms without biases and a tied head, and
// prints one: the loss of the first batch, which the benchmark compares with its own, the time of computing a loss
// alone, and the time of a training step.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/dtypes"
	. "github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/shapes"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/context"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"
	"github.com/gomlx/gomlx/pkg/ml/train/losses"
	"github.com/gomlx/gomlx/pkg/ml/train/optimizers"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
)

// gpt is a network and its batches.
type gpt struct {
	Layers, Heads, Width, Context, Batch, Vocab int

	Weights []byte // a file of safetensors
	Threads int
	// Steps is the number of steps to time; 0 is none: the gradient of a product multiplies and sums tensors of all its
	// factors, which do not fit into memory for large networks.
	Steps int

	vars map[string]*context.Variable
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gomlx:", err)
		os.Exit(1)
	}
}

func run() error {
	var m gpt
	if err := json.NewDecoder(os.Stdin).Decode(&m); err != nil {
		return err
	}
	runtime.GOMAXPROCS(m.Threads)
	backend, err := simplego.New("")
	if err != nil {
		return err
	}
	ctx := context.New()
	if err := m.read(ctx); err != nil {
		return err
	}
	adamw := optimizers.Adam().LearningRate(1e-3).Betas(0.9, 0.99).WeightDecay(0.1).Done()
	exec, err := context.NewExec(backend, ctx, func(ctx *context.Context, ids, targets *Node) *Node {
		loss := m.loss(ids, targets)
		adamw.UpdateGraph(ctx, ids.Graph(), loss)
		return loss
	})
	if err != nil {
		return err
	}
	forward, err := context.NewExec(backend, ctx, func(ctx *context.Context, ids, targets *Node) *Node {
		return m.loss(ids, targets)
	})
	if err != nil {
		return err
	}
	var first float64
	var forwards, ms []float64
	for i := range 4 {
		start := time.Now()
		if first, err = m.step(forward, func(i int) int { return i * 7919 % m.Vocab }); err != nil {
			return err
		}
		if i > 0 {
			forwards = append(forwards, time.Since(start).Seconds()*1e3)
		}
	}
	var last float64
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range min(m.Steps, 1) + m.Steps { // the first compiles
		start := time.Now()
		if last, err = m.step(exec, func(int) int { return rng.IntN(m.Vocab) }); err != nil {
			return err
		}
		if i > 0 {
			ms = append(ms, time.Since(start).Seconds()*1e3)
		}
	}
	line := map[string]any{"loss_first": first, "loss_last": last, "loss_ms_median": median(forwards)}
	if m.Steps > 0 {
		line["ms_median"] = median(ms)
	}
	return json.NewEncoder(os.Stdout).Encode(line)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// read declares the weights, with matrices of their own for queries, keys and values: the back end has no
// gradient of a slice.
func (m *gpt) read(ctx *context.Context) error {
	list, _, err := safetensors.Read(m.Weights)
	if err != nil {
		return err
	}
	m.vars = map[string]*context.Variable{}
	for _, t := range list {
		if strings.HasSuffix(t.Name, "c_attn.weight") {
			for i, part := range []string{"q", "k", "v"} {
				columns := make([]float32, 0, len(t.F32)/3)
				for row := range slices.Chunk(t.F32, 3*m.Width) {
					columns = append(columns, row[i*m.Width:(i+1)*m.Width]...)
				}
				name := t.Name + "." + part
				m.vars[name] = ctx.VariableWithValue(name, tensors.FromFlatDataAndDimensions(columns, m.Width, m.Width))
			}
			continue
		}
		m.vars[t.Name] = ctx.VariableWithValue(t.Name, tensors.FromFlatDataAndDimensions(t.F32, t.Shape...))
	}
	return nil
}

// step trains on a batch of tokens and returns its loss.
func (m *gpt) step(exec *context.Exec, token func(i int) int) (float64, error) {
	n := m.Batch * m.Context
	ids, targets := make([]int32, n), make([]int32, n)
	for row := range m.Batch {
		all := make([]int32, m.Context+1)
		for i := range all {
			all[i] = int32(token(row*(m.Context+1) + i))
		}
		copy(ids[row*m.Context:], all)
		copy(targets[row*m.Context:(row+1)*m.Context], all[1:])
	}
	shape := []int{m.Batch, m.Context, 1}
	out, err := exec.Exec(tensors.FromFlatDataAndDimensions(ids, shape...),
		tensors.FromFlatDataAndDimensions(targets, shape...))
	if err != nil {
		return 0, err
	}
	return float64(tensors.ToScalar[float32](out[0])), nil
}

// loss returns the mean cross-entropy of the targets.
func (m *gpt) loss(ids, targets *Node) *Node {
	g := ids.Graph()
	w := func(format string, block ...any) *Node { return m.vars[fmt.Sprintf(format, block...)].ValueGraph(g) }
	square := shapes.Make(dtypes.Int32, 1, 1, m.Context, m.Context)
	rows, columns := Iota(g, square, 2), Iota(g, square, 3)
	future := Where(GreaterThan(columns, rows), Const(g, float32(math.Inf(-1))), Const(g, float32(0)))
	x := Add(Gather(w("wte.weight"), ids), ExpandAxes(w("wpe.weight"), 0))
	for i := range m.Layers {
		normed, heads := m.norm(x, w("h.%d.ln_1.weight", i)), make([]*Node, 3)
		for at, part := range []string{"q", "k", "v"} {
			h := linear(normed, w("h.%d.attn.c_attn.weight."+part, i))
			heads[at] = Reshape(h, m.Batch, m.Context, m.Heads, m.Width/m.Heads)
		}
		x = Add(x, linear(m.attention(heads, future), w("h.%d.attn.c_proj.weight", i)))
		hidden := activations.Gelu(linear(m.norm(x, w("h.%d.ln_2.weight", i)), w("h.%d.mlp.c_fc.weight", i)))
		x = Add(x, linear(hidden, w("h.%d.mlp.c_proj.weight", i)))
	}
	logits := Einsum("btd,vd->btv", m.norm(x, w("ln_f.weight")), w("wte.weight"))
	return ReduceAllMean(losses.SparseCategoricalCrossEntropyLogits([]*Node{targets}, []*Node{logits}))
}

// linear returns x·w.
func linear(x, w *Node) *Node { return Einsum("btd,de->bte", x, w) }

// norm returns LayerNorm without a bias.
func (m *gpt) norm(x, gain *Node) *Node {
	x = Sub(x, ReduceAndKeep(x, ReduceMean, -1))
	variance := ReduceAndKeep(Square(x), ReduceMean, -1)
	return Mul(Div(x, Sqrt(AddScalar(variance, 1e-5))), Reshape(gain, 1, 1, m.Width))
}

// attention returns the heads of causal attention from queries, keys and values.
func (m *gpt) attention(heads []*Node, future *Node) *Node {
	scores := MulScalar(Einsum("bthd,bshd->bhts", heads[0], heads[1]), 1/math.Sqrt(float64(m.Width/m.Heads)))
	y := Einsum("bhts,bshd->bthd", Softmax(Add(scores, future), -1), heads[2])
	return Reshape(y, m.Batch, m.Context, m.Width)
}
