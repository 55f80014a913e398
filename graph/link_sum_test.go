package graph

import "testing"

// TestTiedTable: a table that is looked up and multiplied by has the gradient of the stock operations, for repeated ids
// and in both orders, and needs the memory of one table for it.
func TestTiedTable(t *testing.T) {
	const v, d, n = 501, 24, 3
	gradient := func(kernels, headFirst bool) ([]float64, int) {
		g := New(Float64, 1)
		g.Kernels = kernels
		table, ids := g.Root().Param("table", Normal(1), v, d), g.Root().Ints("ids", n, v, -1)
		x := g.Root().Value("x", Normal(1), n, d)
		copy(ids.Ints(), []int{3, 500, 3})
		rows, ok := Gather(table, ids)
		if !ok {
			rows = table.Gather(ids)
		}
		logits, ok := LinearT(x, table)
		if !ok {
			logits = x.MatMulT(table)
		}
		parts := []Expr{rows.Square().SumAll(), logits.Square().SumAll()}
		if headFirst {
			parts[0], parts[1] = parts[1], parts[0]
		}
		p, err := Compile(parts[0].Add(parts[1]), table)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
		}
		return p.Grad(table).Floats(), g.Bytes()
	}
	want, _ := gradient(false, false)
	for _, headFirst := range []bool{false, true} {
		got, bytes := gradient(true, headFirst)
		near(t, "the gradient", got, want, 1e-12)
		if most := 8 * 2 * v * d; bytes > most {
			t.Errorf("%d bytes, want less than two tables, %d", bytes, most)
		}
	}
}
