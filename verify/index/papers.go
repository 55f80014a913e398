package index

// source describes a paper: its title, the sources of its tests with the start of their names, the number of its
// equations, and the equations without a test. The latter only name something; the text says what.
type source struct {
	title, test, files string
	equations          int
	unchecked          map[int]string
}

func sources() []source {
	return []source{
		{title: "L. Boué, Deep learning for pedestrians: backpropagation in Transformers",
			test: "TestBoueEq", files: "boue_*_test.go", equations: 55},
		{title: "R. Xu, Transformer with PyTorch", test: "TestXuEq", files: "xu_*_test.go", equations: 84,
			unchecked: map[int]string{
				1:  "names the query (1, d_k), the keys (m, d_k) and the values (m, d_v)",
				7:  "names n queries (n, d_k), with keys and values as in (1)",
				12: "names the case m = n = T, self-attention",
				16: "names the sizes: h heads, d_k = d_v = d/h",
				23: "repeats (16)",
			}},
		{title: "E. Conti, The Math behind transformers", test: "TestContiEq", files: "conti_*_test.go", equations: 23},
		{title: "S. Diab, The GPT Transformer: A Complete Mathematical and Architectural Analysis",
			test: "TestDiabEq", files: "diab_*_test.go", equations: 39},
		{title: "CS 224n, Note 10: Self-Attention & Transformers",
			test: "TestNoteEq", files: "note_*_test.go", equations: 36},
	}
}
