package kernel

// MeanTokens computes the mean of the rows of each sequence. The rows of x and y are d wide, and every row of y has the
// same number of rows of x.
func MeanTokens[T Float](p *Pool, y, x []T, d int) {
	tokens := len(x) / len(y)
	p.Rows(len(y)/d, tokens*d, func(from, to int) {
		for b := from; b < to; b++ {
			y, rows := y[b*d:(b+1)*d], x[b*tokens*d:(b+1)*tokens*d]
			clear(y)
			for ; len(rows) > 0; rows = rows[d:] {
				Accumulate(y, rows[:d])
			}
			for j := range y {
				y[j] /= T(tokens)
			}
		}
	})
}

// MeanTokensBackward computes dx = dy/T for each of the T rows of a sequence.
func MeanTokensBackward[T Float](p *Pool, dx, dy []T, d int) {
	tokens := len(dx) / len(dy)
	p.Rows(len(dy)/d, tokens*d, func(from, to int) {
		for b := from; b < to; b++ {
			rows := dx[b*tokens*d : (b+1)*tokens*d]
			for j, v := range dy[b*d : (b+1)*d] {
				rows[j] = v / T(tokens)
			}
			for t := 1; t < tokens; t++ {
				copy(rows[t*d:(t+1)*d], rows[:d])
			}
		}
	})
}

// GatherTokens copies row at[b] of sequence b of x to row b of y, d wide.
func GatherTokens[T Float](y, x []T, at []int, d int) {
	tokens := len(x) / len(y)
	for b, t := range at {
		copy(y[b*d:(b+1)*d], x[(b*tokens+t)*d:])
	}
}

// ScatterTokens copies row b of dy to row at[b] of sequence b of dx, and clears the other rows.
func ScatterTokens[T Float](dx, dy []T, at []int, d int) {
	tokens := len(dx) / len(dy)
	clear(dx)
	for b, t := range at {
		copy(dx[(b*tokens+t)*d:], dy[b*d:(b+1)*d])
	}
}
