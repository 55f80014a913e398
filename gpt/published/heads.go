package published

import "slices"

// heads holds the sizes that determine the columns of c_attn, [q: H·dρ | k: G·dρ | v: G·dh].
type heads struct {
	Queries, Groups int // H and G
	QK, V           int // dρ and dh
	Rotary          int // number of features of a query or key that rotate
}

// queries returns our columns in the order of q_proj's rows.
func queries(h heads) []int { return h.halves(0, h.Queries) }

// keys returns our columns in the order of k_proj's rows.
func keys(h heads) []int { return h.halves(h.Queries*h.QK, h.Groups) }

// values returns our columns in the order of v_proj's rows.
func values(h heads) []int {
	list := make([]int, h.Groups*h.V)
	for i := range list {
		list[i] = (h.Queries+h.Groups)*h.QK + i
	}
	return list
}

// halves returns the columns of some heads. Rotary positions rotate the features 2i and 2i+1 of a head here, but i and
// i+Rotary/2 in the files. The angles are the same, so with the columns in this order the products of queries and keys
// are the same. A wrong order would not be visible in a file.
func (h heads) halves(from, heads int) []int {
	list := make([]int, 0, heads*h.QK)
	for head := range heads {
		first := from + head*h.QK
		for second := range 2 {
			for i := range h.Rotary / 2 {
				list = append(list, first+2*i+second)
			}
		}
		for i := h.Rotary / 2 * 2; i < h.QK; i++ {
			list = append(list, first+i)
		}
	}
	return list
}

// packed returns our columns in the order [q | k | v] of one matrix of all heads.
func packed(h heads) []int { return slices.Concat(queries(h), keys(h), values(h)) }

// interleaved returns our columns in the order [q | k | v] of every head.
func interleaved(h heads) (list []int) {
	q, k, v := queries(h), keys(h), values(h)
	for i := range h.Queries {
		list = append(list, q[i*h.QK:(i+1)*h.QK]...)
		list = append(list, k[i*h.QK:(i+1)*h.QK]...)
		list = append(list, v[i*h.V:(i+1)*h.V]...)
	}
	return list
}

// headGains returns our gains of a head's features in the order of the files.
func headGains(h heads) []int { return h.halves(0, 1) }

// allQueries returns our gains of all queries in the order of the files.
func allQueries(h heads) []int { return h.halves(0, h.Queries) }

// allKeys returns our gains of all keys in the order of the files.
func allKeys(h heads) []int { return h.halves(0, h.Groups) }
