package search

import "github.com/pedestrian-ml/pedestrian/graph"

// First returns the logits of the first n tokens of one text, from all (V), or of several texts, from (B, V). A network
// may have more logits than its tokenizer has tokens; no text has a place for the further ones. The logits of one text
// share their memory with all of them.
func First(logits graph.Tensor, n int) graph.Tensor {
	s := logits.Shape
	if len(s) < 1 || len(s) > 2 || n < 0 || n >= s[len(s)-1] {
		return logits
	}
	if len(s) == 1 {
		return graph.Tensor{Shape: []int{n}, F32: first(logits.F32, n), F64: first(logits.F64, n)}
	}
	cut := graph.Tensor{Shape: []int{s[0], n}}
	for b := range s[0] {
		row := logits.Row(b)
		cut.F32, cut.F64 = append(cut.F32, first(row.F32, n)...), append(cut.F64, first(row.F64, n)...)
	}
	return cut
}

// first returns the first n numbers, or nil of none.
func first[T any](x []T, n int) []T { return x[:min(n, len(x))] }
