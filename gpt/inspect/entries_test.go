package inspect

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// Entries belong to the tokens and the head, in a matrix and in an activation with heads, for several sequences.
func TestEntriesHas(t *testing.T) {
	const context, heads, width = 5, 3, 2
	all := Entries{context, heads, -1, 0, context}
	for _, e := range []Entries{
		all, all.Tokens(1, 4), all.Tokens(4, 5), all.Head(0), all.Head(2), all.Head(1).Tokens(2, 3),
	} {
		for b := range 2 {
			for h := range heads {
				for token := range context {
					for f := range width {
						want := e.from <= token && token < e.to && (e.head < 0 || e.head == h)
						i, shape := ((b*context+token)*heads+h)*width+f, []int{2 * context, heads * width}
						if got := e.has(shape, i); got != want {
							t.Errorf("%+v, shape %v, entry %d: got %v, want %v", e, shape, i, got, want)
						}
						i, shape = ((b*heads+h)*context+token)*width+f, []int{2, heads, context, width}
						if got := e.has(shape, i); got != want {
							t.Errorf("%+v, shape %v, entry %d: got %v, want %v", e, shape, i, got, want)
						}
					}
				}
			}
		}
	}
	for i := range 2 * heads { // a column of each head
		if got := all.Head(1).has([]int{2, heads}, i); got != (i%heads == 1) {
			t.Errorf("column %d: got %v", i%heads, got)
		}
	}
	if narrow := []int{context, heads - 1}; all.check(narrow) != nil || !all.has(narrow, 1) {
		t.Error("all entries of a matrix have no column for each head")
	}
	long := []int{1, 2, 9, 4} // all entries need neither tokens nor heads of the model
	if err := all.check(long); err != nil || !all.has(long, 8*4) {
		t.Errorf("shape %v: got %v", long, err)
	}
	if err := all.Tokens(1, 2).check([]int{2, heads, context, width}); err != nil {
		t.Errorf("some tokens: got %v", err)
	}
	if err := (Entries{1, 1, -1, 0, 1}).check([]int{3, 4}); err != nil {
		t.Errorf("a context of one token: got %v", err)
	}
}

// Set also takes the activation of all sequences of a batch.
func TestSetOfABatch(t *testing.T) {
	m := model(t, odd(), true, 2)
	x := graph.Tensor{Shape: []int{2 * 7, 10}, F64: make([]float64, 2*7*10)}
	for i := range x.F64 {
		x.F64[i] = float64(i)
	}
	edited := replace(t, m, "h.1", All(m).Set(x))
	stream, err := edited.Graph.Activation("h.1")
	if err != nil {
		t.Fatal(err)
	}
	program, err := graph.CompileWith(edited.Loss, []graph.Expr{stream})
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Run(); err != nil {
		t.Fatal(err)
	}
	if d := distance(t, "h.1", program.Kept(stream), x); d != 0 {
		t.Errorf("%v off", d)
	}
}
