package kernel

import (
	"math"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/simd"
	"github.com/pedestrian-ml/pedestrian/internal/elementary"
)

// Softmax turns a row of scores into weights, in place: e^(x + mask − max)/Σ, exactly 0 where the mask is −∞. In a row
// with NaN or ∞ elsewhere it may be NaN there, too.
func Softmax[T Float](x, mask []T) {
	if fast := simd.Of[T](); fast != nil && len(x) > 0 {
		fast.Softmax(simd.Float32s(x), simd.Float32s(mask[:len(x)]), len(x), 1)
		return
	}
	last := len(x)
	for last > 0 && math.IsInf(float64(mask[last-1]), -1) { // a causal row ends at its diagonal
		last--
	}
	clear(x[last:])
	x = x[:last]
	top := T(math.Inf(-1))
	for j := range x {
		if x[j] += mask[j]; math.IsInf(float64(mask[j]), -1) {
			x[j] = mask[j] // even if the score is NaN or ∞
		}
		top = max(top, x[j])
	}
	var sum T
	for j, v := range x {
		x[j] = Exp(v - top)
		sum += x[j]
	}
	for j := range x {
		x[j] /= sum
	}
}

// CrossEntropy returns Σ (lse(z) − z[target]) over the rows of logits (n, v) whose target is not ignore, and the number
// of these rows. It stores the row's log-sum-exp in lse (n), which is all that the backward pass needs.
func CrossEntropy[T Float](p *Pool, logits, lse []T, targets []int, ignore int) (sum float64, kept int) {
	logSumExps(p, lse, logits)
	v := len(logits) / len(lse)
	for i, y := range targets {
		if y != ignore {
			sum += float64(lse[i]) - float64(logits[i*v+y])
			kept++
		}
	}
	return sum, kept
}

// LogProbs computes y = ln softmax(z)[id] for every row of logits (n, v), or 0 for rows whose id is ignore. It stores
// the row's log-sum-exp in lse (n) for LogProbsBackward.
func LogProbs[T Float](p *Pool, y, logits, lse []T, ids []int, ignore int) {
	logSumExps(p, lse, logits)
	v := len(logits) / len(lse)
	for i, id := range ids {
		if y[i] = 0; id != ignore {
			y[i] = logits[i*v+id] - lse[i]
		}
	}
}

// LogProbsBackward computes dz = dy·(onehot(id) − softmax(z)), or 0 for rows whose id is ignore.
func LogProbsBackward[T Float](p *Pool, dz, logits, lse, dy []T, ids []int, ignore int) {
	awayFrom(p, dz, logits, lse, ids, func(i int) T {
		if ids[i] == ignore {
			return 0
		}
		return -dy[i]
	})
}

// awayFrom computes dz = f·(softmax(z) − onehot(id)) for every row i of logits, f = factor(i). A row with the factor 0
// is not read.
func awayFrom[T Float](p *Pool, dz, logits, lse []T, ids []int, factor func(i int) T) {
	v := len(logits) / len(lse)
	p.Rows(len(lse), v, func(from, to int) {
		for i := from; i < to; i++ {
			z, dz, f := logits[i*v:(i+1)*v], dz[i*v:(i+1)*v], factor(i)
			if f == 0 {
				clear(dz)
				continue
			}
			top, factor := shift(z, lse[i], f)
			for j, x := range z {
				dz[j] = Exp(x-top) * factor
			}
			dz[ids[i]] -= f
		}
	})
}

// logSumExps computes lse = ln Σ e^z of every row of logits (n, v).
func logSumExps[T Float](p *Pool, lse, logits []T) {
	v := len(logits) / len(lse)
	p.Rows(len(lse), v, func(from, to int) {
		for i := from; i < to; i++ {
			top, total := expSum(logits[i*v : (i+1)*v])
			lse[i] = top + T(elementary.Log(total))
		}
	})
}

// expSum returns the maximum of z and Σ e^(z − maximum).
func expSum[T Float](z []T) (top T, total float64) {
	if fast := simd.Of[T](); fast != nil {
		top, total := fast.ExpSum(simd.Float32s(z))
		return T(top), total
	}
	top = z[0]
	for _, x := range z[1:] {
		top = max(top, x)
	}
	for _, x := range z {
		total += float64(Exp(x - top))
	}
	return top, total
}

// shift returns the number to subtract from the logits z of a row, and the factor of their exponentials, for
// scale·softmax(z), by e^(z−lse) = e^(z−m)/Σ e^(z−m) for the maximum m. They are lse and scale as long as the rounded
// lse has enough digits for the logarithm of the sum in addition to the maximum.
func shift[T Float](z []T, lse, scale T) (T, T) {
	const roomy = 1 << 10
	if -roomy <= lse && lse <= roomy {
		return lse, scale
	}
	top, total := expSum(z)
	return top, T(float64(scale) / total)
}

// Regularized adds two terms to the cross entropy of a row, s·(z[target] − mean(z)) + λ·lse²(z).
type Regularized[T Float] struct {
	Smoothing, ZLoss float64 // s and λ
	Means            []T     // scratch, one number for each row; unused if s is 0
}

// CrossEntropy is like the function of that name.
func (r Regularized[T]) CrossEntropy(p *Pool, logits, lse []T, targets []int, ignore int) (sum float64, kept int) {
	sum, kept = CrossEntropy(p, logits, lse, targets, ignore)
	v := len(logits) / len(lse)
	if r.Smoothing > 0 {
		p.Rows(len(lse), v, func(from, to int) {
			for i := from; i < to; i++ {
				r.Means[i] = mean(logits[i*v : (i+1)*v])
			}
		})
	}
	for i, y := range targets {
		if y == ignore {
			continue
		}
		if r.Smoothing > 0 {
			sum += float64(r.Smoothing * (float64(logits[i*v+y]) - float64(r.Means[i])))
		}
		if r.ZLoss > 0 {
			sum += float64(r.ZLoss * float64(lse[i]) * float64(lse[i]))
		}
	}
	return sum, kept
}

// mean returns the mean of z. It adds up four sums, each of which waits for its own additions alone.
func mean[T Float](z []T) T {
	var a, b, c, d float64
	rest := z
	for ; len(rest) >= 4; rest = rest[4:] {
		a += float64(rest[0])
		b += float64(rest[1])
		c += float64(rest[2])
		d += float64(rest[3])
	}
	for _, x := range rest {
		a += float64(x)
	}
	return T((a + b + c + d) / float64(len(z)))
}

// CrossEntropyBackward computes dz = scale·((1 + 2λ·lse)·softmax(z) − (1 − s)·onehot(target) − s/v), or 0 for rows
// whose target is ignore.
func (r Regularized[T]) CrossEntropyBackward(
	p *Pool, dz, logits, lse []T, targets []int, ignore int, scale T,
) {
	v := len(logits) / len(lse)
	right, uniform := scale*T(1-r.Smoothing), scale*T(r.Smoothing/float64(v))
	p.Rows(len(lse), v, func(from, to int) {
		for i := from; i < to; i++ {
			z, dz := logits[i*v:(i+1)*v], dz[i*v:(i+1)*v]
			if targets[i] == ignore {
				clear(dz)
				continue
			}
			factor := scale
			if r.ZLoss > 0 {
				factor = T(float64(scale) * (1 + float64(2*r.ZLoss*float64(lse[i]))))
			}
			top, factor := shift(z, lse[i], factor)
			if fast := simd.Of[T](); fast != nil {
				fast.Exp(simd.Float32s(dz), simd.Float32s(z), float32(top), float32(factor))
			} else {
				for j, x := range z {
					dz[j] = Exp(x-top) * factor
				}
			}
			if r.Smoothing > 0 {
				for j := range dz {
					dz[j] -= uniform
				}
			}
			dz[targets[i]] -= right
		}
	})
}
