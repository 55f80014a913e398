package papers

// The numbered equations without a test, each with the reason: they name something, or state nothing that could be
// wrong. INDEX.md prints the reason in place of a test.

func xuUnchecked() map[int]string {
	return map[int]string{
		1:  "names the query (1, d_k), the keys (m, d_k) and the values (m, d_v)",
		7:  "names n queries (n, d_k), with keys and values as in (1)",
		12: "names the case m = n = T, self-attention",
		16: "names the sizes: h heads, d_k = d_v = d/h",
		23: "repeats (16)",
	}
}

func contiUnchecked() map[int]string { return map[int]string{} }

func noteUnchecked() map[int]string { return map[int]string{} }
