package ops

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// crossEntropyOp holds what the two passes share: the targets, and the log-sum-exp and the weight that the forward pass
// computes.
type crossEntropyOp struct {
	pool    *kernel.Pool
	targets []int
	ignore  int
	mean    bool
	lse     *buffer
	means   *buffer // of the rows; nil without smoothing
	weight  float64

	smoothing, zLoss float64
}

// regularized returns the kernel of l.
func regularized[T kernel.Float](l *crossEntropyOp) kernel.Regularized[T] {
	return kernel.Regularized[T]{Smoothing: l.smoothing, ZLoss: l.zLoss, Means: of[T](l.means)}
}

// CrossEntropy returns the sum, or the mean, of ln Σ e^z − z[target] + s·(z[target] − mean(z)) + λ·ln² Σ e^z over the
// rows of logits whose target is not the ignored id, with smoothing s and λ = zLoss.
func (b *Builder) CrossEntropy(
	logits *G.Node, targets IDs, ignore int, mean bool, smoothing, zLoss float64,
) (*G.Node, error) {
	n := logits.Shape()[0]
	l := &crossEntropyOp{
		pool: b.Pool, targets: targets.List, ignore: ignore, mean: mean, lse: &buffer{size: n},
		smoothing: smoothing, zLoss: zLoss,
	}
	fills := []*buffer{l.lse}
	if smoothing > 0 {
		l.means = &buffer{size: n}
		fills = append(fills, l.means)
	}
	return b.node(&Op{
		name: fmt.Sprintf("crossentropy(%t)", mean), wrt: []bool{true, false}, fills: fills,
		f32: crossEntropy[float32](l), f64: crossEntropy[float64](l),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: "crossentropy.dz", shape: in[0].Shape(), uses: []*buffer{l.lse},
				f32: crossEntropyBackward[float32](l), f64: crossEntropyBackward[float64](l),
			}, in[0], grad, out))
		},
	}, logits, targets.Node)
}

func crossEntropy[T kernel.Float](l *crossEntropyOp) body[T] {
	return func(out []T, in [][]T) {
		sum, kept := regularized[T](l).CrossEntropy(l.pool, in[0], of[T](l.lse), l.targets, l.ignore)
		if l.weight = 1; l.mean {
			l.weight = 1 / float64(kept)
		}
		out[0] = T(sum * l.weight)
	}
}

func crossEntropyBackward[T kernel.Float](l *crossEntropyOp) body[T] {
	return func(dz []T, in [][]T) {
		r, scale := regularized[T](l), T(l.weight)*in[1][0]
		r.CrossEntropyBackward(l.pool, dz, in[0], of[T](l.lse), l.targets, l.ignore, scale)
	}
}

// LogProbs returns ln softmax(z)[id] of every row of logits, or 0 if the row's id is the ignored one: (n, v) → (n, 1).
func (b *Builder) LogProbs(logits *G.Node, ids IDs, ignore int) (*G.Node, error) {
	n, lse := logits.Shape()[0], &buffer{size: logits.Shape()[0]}
	return b.node(&Op{
		name: "logprobs", shape: tensor.Shape{n, 1}, wrt: []bool{true, false}, fills: []*buffer{lse},
		f32: logProbs[float32](b.Pool, lse, ids.List, ignore), f64: logProbs[float64](b.Pool, lse, ids.List, ignore),
		diff: func(in G.Nodes, out, grad *G.Node) (G.Nodes, error) {
			return one(b.node(&Op{
				name: "logprobs.dz", shape: in[0].Shape(), uses: []*buffer{lse},
				f32: logProbsBackward[float32](b.Pool, lse, ids.List, ignore),
				f64: logProbsBackward[float64](b.Pool, lse, ids.List, ignore),
			}, in[0], grad, out))
		},
	}, logits, ids.Node)
}

func logProbs[T kernel.Float](p *kernel.Pool, lse *buffer, ids []int, ignore int) body[T] {
	return func(y []T, in [][]T) { kernel.LogProbs(p, y, in[0], of[T](lse), ids, ignore) }
}

func logProbsBackward[T kernel.Float](p *kernel.Pool, lse *buffer, ids []int, ignore int) body[T] {
	return func(dz []T, in [][]T) { kernel.LogProbsBackward(p, dz, in[0], of[T](lse), in[1], ids, ignore) }
}

// SquaredError returns Σ w(x − y)²/Σ w. The weights may be nil, which makes them 1.
func (b *Builder) SquaredError(x, y, weights *G.Node) (*G.Node, error) {
	operands := present(x, y, weights)
	return b.node(&Op{
		name: "squarederror", wrt: []bool{true, true, false}[:len(operands)],
		f32: squaredError[float32], f64: squaredError[float64],
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			slope := func(of, from *G.Node) (*G.Node, error) { // 2w(of − from)/Σw
				return b.node(&Op{
					name: "squarederror.dx", shape: of.Shape(),
					f32: squaredErrorBackward[float32], f64: squaredErrorBackward[float64],
				}, append(G.Nodes{grad, of, from}, in[2:]...)...)
			}
			dx, err := slope(in[0], in[1])
			if err != nil {
				return nil, err
			}
			dy, err := slope(in[1], in[0])
			return G.Nodes{dx, dy}, err
		},
	}, operands...)
}

func squaredError[T kernel.Float](out []T, in [][]T) {
	out[0] = T(kernel.SquaredError(in[0], in[1], third(in)))
}

func squaredErrorBackward[T kernel.Float](dx []T, in [][]T) {
	kernel.SquaredErrorBackward(dx, in[1], in[2], third(in[1:]), in[0][0])
}

// third returns the third operand, nil if there are only two.
func third[T kernel.Float](in [][]T) []T {
	if len(in) < 3 {
		return nil
	}
	return in[2]
}

// BinaryCrossEntropy returns the mean of max(z, 0) − z∘y + ln(1 + e^(−|z|)) over all entries.
func (b *Builder) BinaryCrossEntropy(z, y *G.Node) (*G.Node, error) {
	shape := z.Shape()
	return b.node(&Op{
		name: "binarycrossentropy", f32: binaryCrossEntropy[float32](b.Pool), f64: binaryCrossEntropy[float64](b.Pool),
		diff: func(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
			dz, err := b.node(&Op{
				name: "binarycrossentropy.dz", shape: shape,
				f32: binaryCrossEntropyDZ[float32](b.Pool), f64: binaryCrossEntropyDZ[float64](b.Pool),
			}, in[0], in[1], grad)
			if err != nil {
				return nil, err
			}
			dy, err := b.node(&Op{
				name: "binarycrossentropy.dy", shape: shape,
				f32: binaryCrossEntropyDY[float32], f64: binaryCrossEntropyDY[float64],
			}, in[0], grad)
			return G.Nodes{dz, dy}, err
		},
	}, z, y)
}

func binaryCrossEntropy[T kernel.Float](p *kernel.Pool) body[T] {
	return func(out []T, in [][]T) { out[0] = T(kernel.BinaryCrossEntropy(p, in[0], in[1])) }
}

func binaryCrossEntropyDZ[T kernel.Float](p *kernel.Pool) body[T] {
	return func(dz []T, in [][]T) { kernel.BinaryCrossEntropyBackward(p, dz, in[0], in[1], in[2][0]) }
}

// binaryCrossEntropyDY computes dy = −z/n.
func binaryCrossEntropyDY[T kernel.Float](dy []T, in [][]T) {
	kernel.Scale(dy, in[0], -in[1][0]/T(len(dy)))
}
