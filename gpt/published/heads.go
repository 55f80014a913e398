package published

// Heads holds the sizes that determine the columns of c_attn, [q: H·dρ | k: G·dρ | v: G·dh].
type Heads struct {
	Queries, Groups int // H and G
	QK, V           int // dρ and dh
}

// queries returns our columns in the order of q_proj's rows.
func queries(h Heads) []int { return halves(0, h.Queries, h.QK) }

// keys returns our columns in the order of k_proj's rows.
func keys(h Heads) []int { return halves(h.Queries*h.QK, h.Groups, h.QK) }

// values returns our columns in the order of v_proj's rows.
func values(h Heads) []int {
	list := make([]int, h.Groups*h.V)
	for i := range list {
		list[i] = (h.Queries+h.Groups)*h.QK + i
	}
	return list
}

// halves returns the columns of some heads. Rotary positions rotate the features 2i and 2i+1 of a head here, but i and
// i+size/2 in the files. The angles are the same, so with the columns in this order the products of queries and keys
// are the same. A wrong order would not be visible in a file.
func halves(from, heads, size int) []int {
	list := make([]int, 0, heads*size)
	for head := range heads {
		for second := range 2 {
			for i := range size / 2 {
				list = append(list, from+head*size+2*i+second)
			}
		}
	}
	return list
}

// headGains returns our gains of a head's features in the order of the files.
func headGains(h Heads) []int { return halves(0, 1, h.QK) }

// allQueries returns our gains of all queries in the order of the files.
func allQueries(h Heads) []int { return halves(0, h.Queries, h.QK) }

// allKeys returns our gains of all keys in the order of the files.
func allKeys(h Heads) []int { return halves(0, h.Groups, h.QK) }
