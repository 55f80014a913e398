package kernel

// AddPositions computes y = c·x + table[ids], row by row of d numbers.
func AddPositions[T Float](y, x, table []T, ids []int, d int, c T) {
	for i, id := range ids {
		y, x, row := y[i*d:(i+1)*d], x[i*d:(i+1)*d], table[id*d:(id+1)*d]
		for j, v := range row {
			y[j] = c*x[j] + v
		}
	}
}

// Scale computes y = c·x.
func Scale[T Float](y, x []T, c T) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = c * v
	}
}
