package optim

import (
	"cmp"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel"
	"github.com/pedestrian-ml/pedestrian/graph/internal/kernel/gemm"
)

// SOAP is AdamW in the eigenvectors of Shampoo's preconditioners L and R (Vyas et al. 2024, arXiv:2409.11321,
// algorithms 3 and 4): for the gradient G of a matrix θ (in, out),
//
//	L ← βL + (1−β)GGᵀ,  R ← βR + (1−β)GᵀG
//	G' = Q_LᵀGQ_R,  M' ← β₁M' + (1−β₁)G',  V ← β₂V + (1−β₂)G'²
//	θ ← θ − η(Q_L(M̂'/(√V̂ + ε))Q_Rᵀ + λθ),  M̂' = M'/(1−β₁ᵗ),  V̂ = V/(1−β₂ᵗ)
//
// Q_L and Q_R start as I. After the first step, and after every f steps, one power with the newest L and R brings them
// nearer to the eigenvectors: Q_L is the factor Q of a QR decomposition of (L/tr L + 10⁻⁶I)Q_L. The second term keeps
// the vectors of eigenvalues that rounding hides. M' is then expressed in the new vectors, so that it stays the mean of
// the gradients, as in the paper, which rotates it in every step; V stays as it is. The paper has ε inside the root.
// Each matrix that a parameter packs (Step.Columns) is updated separately.
type SOAP struct {
	Beta1, Beta2 float64 // 0 ≤ β₁, β₂ < 1, published as 0.95
	Eps          float64 // ε > 0; 0 means 1e-8
	ShampooBeta  float64 // 0 ≤ β < 1; 0 means β₂
	Frequency    int     // f; 0 means 10
	MaxDim       int     // the largest size of L and R: the vectors of a longer side stay I; 0 means 4096
}

// State returns two moments, M' and V, and Further L, Q_Lᵀ, R and Q_Rᵀ: l, ql, r and qr, with the index of the matrix
// if a parameter packs several.
func (o SOAP) State() (State, error) {
	return State{Name: "soap", Moments: 2, Whole: true, Further: o.further, Products: o.products, matrix: true},
		check(fraction("beta1", o.Beta1), fraction("beta2", o.Beta2), notNegative("eps", o.Eps),
			fraction("shampoo_beta", o.ShampooBeta), notNegative("precondition_frequency", float64(o.Frequency)),
			notNegative("max_precond_dim", float64(o.MaxDim)))
}

// products returns, for each side of n entries with vectors, of a matrix whose other side has m: n²m for the
// preconditioner and 4n²m for the rotations there and back; and in every f-th step 8n³ for the power, of which 4n³ make
// the vectors orthonormal twice, and 2n²m for the rotation of the moment.
func (o SOAP) products(shape, columns []int) (sum float64) {
	f := float64(cmp.Or(o.Frequency, 10))
	for _, out := range matrices(shape, columns) {
		for _, side := range [][2]int{{shape[0], out}, {out, shape[0]}} {
			if n, m := float64(side[0]), float64(side[1]); o.rotates(side[0]) {
				sum += float64(5*n*n*m) + (float64(8*n*n*n)+float64(2*n*n*m))/f
			}
		}
	}
	return sum
}

func (o SOAP) further(shape, columns []int) (list []Kept) {
	for i, out := range matrices(shape, columns) {
		index := ""
		if len(columns) > 0 {
			index = strconv.Itoa(i)
		}
		for side, n := range []int{shape[0], out} {
			if name := "lr"[side : side+1]; o.rotates(n) {
				list = append(list, Kept{name + index, []int{n, n}}, Kept{"q" + name + index, []int{n, n}})
			}
		}
	}
	return list
}

// rotates reports whether a side of n entries has a preconditioner.
func (o SOAP) rotates(n int) bool { return n <= cmp.Or(o.MaxDim, 4096) }

// basisLen returns the number of entries of scratch that a side of n entries needs.
func (o SOAP) basisLen(n int) int {
	if o.rotates(n) {
		return 2 * n * n
	}
	return 0
}

// Step updates s.W, s.M, s.V and s.Further.
func (o SOAP) Step(s Step) {
	if len(s.W.Shape) == 2 && s.W.Len() == s.W.Shape[0]*s.W.Shape[1] { // New refuses others
		soap[float32](o, s)
		soap[float64](o, s)
	}
}

func soap[T kernel.Float](o SOAP, s Step) {
	adam := kernel.AdamW{LR: s.Rate, Beta1: o.Beta1, Beta2: o.Beta2, Eps: cmp.Or(o.Eps, 1e-8)}
	beta, keep, scale := cmp.Or(o.ShampooBeta, o.Beta2), T(1-float64(s.Rate*s.Decay)), T(s.Scale)
	eachMatrix(s, func(_, in, out int, w, g, m, v gemm.Matrix[T]) {
		inBasis, outBasis := o.basisLen(in), o.basisLen(out)
		space := room[T](s, inBasis+outBasis+2*in*out)
		left, right := newBasis[T](o, in, &s, space), newBasis[T](o, out, &s, space[inBasis:])
		space = space[inBasis+outBasis:]
		x, y := gemm.Mat(space[:in*out], out), gemm.Mat(space[in*out:2*in*out], out)
		for i := range in {
			for j, g := range g.Row(i)[:out] {
				x.Data[i*out+j] = scale * g
			}
		}
		left.add(beta, out, x)
		right.add(beta, in, x.T())
		turned, change := rotate(in, out, left.q, right.q, x, y)
		clear(change.Data)
		for i := range in {
			kernel.Update(adam, s.T, 1, change.Row(i)[:out], turned.Row(i)[:out], m.Row(i)[:out], v.Row(i)[:out])
		}
		back, _ := rotate(in, out, left.q.T(), right.q.T(), change, turned)
		for i := range in {
			w := w.Row(i)[:out]
			for j, step := range back.Row(i)[:out] {
				w[j] = T(keep*w[j]) + step
			}
		}
		if s.T == 1 || s.T%cmp.Or(o.Frequency, 10) == 0 {
			copyRows(in, out, x, m)
			turned, _ := rotate(in, out, left.power(), right.power(), x, y)
			copyRows(in, out, m, turned)
		}
	})
}

// copyRows copies a matrix (in, out).
func copyRows[T kernel.Float](in, out int, to, from gemm.Matrix[T]) {
	for i := range in {
		copy(to.Row(i)[:out], from.Row(i)[:out])
	}
}

// rotate returns left·x·rightᵀ, in x or in y, and the other one of these, which is overwritten. A left or right without
// entries is I.
func rotate[T kernel.Float](in, out int, left, right, x, y gemm.Matrix[T]) (turned, spare gemm.Matrix[T]) {
	if left.Data != nil {
		gemm.MulSerial(in, out, in, 1, left, x, 0, y)
		x, y = y, x
	}
	if right.Data != nil {
		gemm.MulSerial(in, out, out, 1, x, right.T(), 0, y)
		x, y = y, x
	}
	return x, y
}
