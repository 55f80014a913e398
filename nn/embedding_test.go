package nn

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// places returns an index into each sequence, the last token of the first.
func places(at Site) graph.Expr {
	x := at.Ints("places", at.Batch, at.Context, -1)
	for b := range x.Ints() {
		x.Ints()[b] = (at.Context - 1 + 3*b) % at.Context
	}
	return x
}

// The mean of the tokens does not depend on their order, one token is its own mean, and sequences do not affect one
// another.
func TestI61Pooling(t *testing.T) {
	const batch, context, d = 3, 5, 4
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: batch, Context: context, Embd: d}}
		x, back := g.Root().Value("x", graph.Normal(1), batch*context, d), g.Root().Ints("back", batch*context, batch*context, -1)
		for i := range back.Ints() {
			back.Ints()[i] = i/context*context + (context - 1 - i%context)
		}
		ids := places(at)
		mean, turned := NewMeanTokens(at).Forward(x), NewMeanTokens(at).Forward(x.Gather(back))
		one := NewGatherTokens(at, ids).Forward(x)
		m, r, o := run(t, mean).Value().Clone().F64, run(t, turned).Value().Clone().F64, run(t, one).Value().F64 // programs share memory
		for b := range batch {
			for j := range d {
				if got := o[b*d+j]; got != x.Tensor().F64[(b*context+ids.Ints()[b])*d+j] {
					t.Errorf("kernels %t: token %d of sequence %d, feature %d: got %v", kernels, ids.Ints()[b], b, j, got)
				}
				if i := b*d + j; !(math.Abs(m[i]-r[i]) <= 1e-15) {
					t.Errorf("kernels %t: the mean is %v, in the other order %v", kernels, m[i], r[i])
				}
			}
		}
		first := make([]float64, 0, d)
		for j := range d {
			first = append(first, 0)
			for i := range context {
				first[j] += x.Tensor().F64[i*d+j] / context
				x.Tensor().F64[i*d+j] += 7
			}
		}
		moved := run(t, mean).Value().F64
		for i := range m {
			if want := m[i]; i < d && !(math.Abs(moved[i]-first[i]-7) <= 1e-14) || i >= d && moved[i] != want {
				t.Errorf("kernels %t, entry %d: got %v after moving the first sequence by 7, before %v", kernels, i, moved[i], want)
			}
		}
	}
}

// An index must be in its sequence, in both forms.
func TestI61Places(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 1)
		g.Kernels = kernels
		at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: 2, Context: 5, Embd: 3}}
		ids := at.Ints("at", 2, 5, -1)
		p, err := graph.Compile(NewGatherTokens(at, ids).Forward(g.Root().Value("x", graph.Normal(1), 10, 3)))
		if err != nil {
			t.Fatal(err)
		}
		for _, place := range []int{-1, 5} {
			ids.Ints()[1] = place
			if err := p.Run(); err == nil || !strings.Contains(err.Error(), "pool.at[1] is ") || !strings.Contains(err.Error(), "not in 0 … 4") {
				t.Errorf("kernels %t, place %d: got %v", kernels, place, err)
			}
		}
	}
}

// A number of tokens that differs from the site's is an error of the layer, in both forms.
func TestPoolingOfOtherTokens(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for want, pool := range map[string]func(at Site, x graph.Expr) graph.Expr{
			"pool: mean of tokens x (15, 3): ": func(at Site, x graph.Expr) graph.Expr { return NewMeanTokens(at).Forward(x) },
			"pool: gather tokens x (15, 3), ":  func(at Site, x graph.Expr) graph.Expr { return NewGatherTokens(at, places(at)).Forward(x) },
		} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: 2, Context: 5, Embd: 3}}
			_, err := graph.Compile(pool(at, g.Root().Value("x", graph.Normal(1), 15, 3)))
			if err == nil || kernels && !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "pool: ") {
				t.Errorf("kernels %t: got %v, want %s…", kernels, err, want)
			}
		}
	}
}

// idReader is an operation on ids: rows of x (10, 5) and ids below 5 give a result for n ids.
type idReader struct {
	n         int
	lookup    bool // an ignored id has no row
	operation string
	build     func(at Site, x, ids graph.Expr) graph.Expr
}

var idReaders = map[string]idReader{
	"embedding": {6, true, "Gather", func(at Site, x, ids graph.Expr) graph.Expr {
		return (&Embedding{x, at.Scope}).Forward(ids)
	}},
	"learned positions": {10, true, "AddPositions", func(at Site, x, ids graph.Expr) graph.Expr {
		at.Positions = ids
		return NewLearnedPositions(at).Forward(x)
	}},
	"sinusoidal": {10, true, "AddPositions", func(at Site, x, ids graph.Expr) graph.Expr {
		at.Positions, at.Embd = ids, 4
		return NewSinusoidal(at, 100).Forward(x.Cols(0, 4))
	}},
	"rotary positions": {10, true, "Rotate", func(at Site, x, ids graph.Expr) graph.Expr {
		at.Positions = ids
		return NewRoPE(at, 2, 100).Rotate(x, 2, 2)
	}},
	"one token of each": {2, true, "GatherTokens", func(at Site, x, ids graph.Expr) graph.Expr {
		at.Batch, at.Context = 2, 5
		return NewGatherTokens(at, ids).Forward(x)
	}},
	"an edit at positions": {10, true, "MulAddAt", func(_ Site, x, ids graph.Expr) graph.Expr {
		table := make([]float64, 25)
		for i := range table {
			table[i] = math.Sin(float64(i))
		}
		return x.MulAddAt(ids, table, table)
	}},
	"one-hot": {10, false, "OneHot", func(_ Site, x, ids graph.Expr) graph.Expr { return x.Mul(ids.OneHot(5)) }},
	"cross entropy": {10, false, "CrossEntropy", func(at Site, x, ids graph.Expr) graph.Expr {
		return NewCrossEntropy(at.Scope).Forward(x, ids)
	}},
	"cross entropy, a sum": {10, false, "CrossEntropy", func(at Site, x, ids graph.Expr) graph.Expr {
		return (&CrossEntropy{Sum: true, scope: at.Scope}).Forward(x, ids)
	}},
	"reinforce": {10, true, "Reinforce", func(at Site, x, ids graph.Expr) graph.Expr {
		return NewReinforce(at.Scope).Forward(x, played(at.Scope, ids))
	}},
	"ppo": {10, true, "PPOClip", func(at Site, x, ids graph.Expr) graph.Expr {
		return NewPPOClip(at.Scope).Forward(x, played(at.Scope, ids))
	}},
}

// played returns a rollout of the given actions.
func played(s graph.Scope, actions graph.Expr) Rollout {
	number := func(name string, mean float64) graph.Expr {
		return s.Value(name, func(i int, _ *rand.Rand) float64 { return mean + math.Sin(float64(i))/2 }, 10, 1)
	}
	return Rollout{Actions: actions, Returns: number("returns", 1), Weights: number("weights", 1), LogProbs: number("old", -1.6)}
}

// An ignored id inside the range of valid ids is refused by name. If it is outside, or if there is none, both forms of
// every operation on ids agree: in the ids that they refuse, in values, and in gradients.
func TestIgnoredIDs(t *testing.T) {
	const limit = 5
	for name, r := range idReaders {
		for _, ignore := range []int{graph.NoneIgnored, -1, 0, limit / 2, limit - 1, limit, limit + 5} {
			for _, use := range []bool{false, true} { // one of the ids is the ignored one
				for _, dtype := range []graph.Dtype{graph.Float64, graph.Float32} {
					what := fmt.Sprintf("%s, %v, ignored %d, used %t", name, dtype, ignore, use)
					var sides [2][]float64
					var errs [2]error
					for side := range sides {
						sides[side], errs[side] = r.read(t, dtype, side == 1, limit, ignore, use)
					}
					want := ""
					switch {
					case 0 <= ignore && ignore < limit:
						want = fmt.Sprintf("a.ids: the ignored id is %d, want one outside 0 … 4, or NoneIgnored", ignore)
					case use && (r.lookup || ignore == graph.NoneIgnored):
						want = fmt.Sprintf("a.ids[1] is %d, not in 0 … 4", ignore)
					}
					for side, err := range errs {
						if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
							t.Errorf("%s, kernels %t: got error %v, want %q", what, side == 1, err, want)
						}
					}
					if len(sides[0]) != len(sides[1]) {
						t.Errorf("%s: got %d numbers by kernels, want %d", what, len(sides[1]), len(sides[0]))
						continue
					}
					for i, got := range sides[1] {
						if want := sides[0][i]; !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
							t.Errorf("%s: number %d is %v by kernels, want %v", what, i, got, want)
						}
					}
				}
			}
		}
	}
}

// read returns the result and the gradient by x.
func (r idReader) read(t *testing.T, dtype graph.Dtype, kernels bool, limit, ignore int, use bool) ([]float64, error) {
	t.Helper()
	g := graph.New(dtype, 1)
	g.Kernels = kernels
	s := g.Root().Sub("a")
	at := Site{Scope: s, Dims: Dims{Batch: 1, Context: 5, Embd: 5, Heads: 1, QK: 2, V: 2}}
	x, ids := s.Param("x", graph.Normal(1), 10, 5), s.Ints("ids", r.n, limit, ignore)
	for i := range ids.Ints() {
		ids.Ints()[i] = (i*i + 2) % limit
	}
	y := r.build(at, x, ids)
	if use && ids.Ints() != nil {
		ids.Ints()[1] = ignore
	}
	p, err := graph.Compile(y.Mul(y).SumAll(), x)
	if err != nil {
		return nil, err
	}
	if err := p.Run(); err != nil {
		return nil, err
	}
	return slices.Concat([]float64{p.Loss()}, p.Grad(x).Floats()), nil
}

// The table above has every exported operation of graph with ids among its operands.
func TestEveryReaderOfIDsIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, r := range idReaders {
		tried[r.operation] = true
	}
	found := 0
	for _, f := range functions(t, "../graph") {
		if !f.Name.IsExported() || !hasIDs(f) || f.Type.Results == nil || strings.HasPrefix(f.Name.Name, "Cached") {
			continue // a cache reads one position, but no row by it
		}
		found++
		if !tried[f.Name.Name] {
			t.Errorf("%s reads ids: it has no row in idReaders", f.Name.Name)
		}
	}
	if found < len(tried) {
		t.Errorf("found %d operations that read ids, want at least %d", found, len(tried))
	}
}

// hasIDs reports whether an operand has a name of ids.
func hasIDs(f *ast.FuncDecl) bool {
	fields := f.Type.Params.List
	if f.Recv != nil {
		fields = slices.Concat(f.Recv.List, fields)
	}
	for _, field := range fields {
		kind, ok := field.Type.(*ast.Ident)
		for _, name := range field.Names {
			if ok && kind.Name == "Expr" && slices.Contains([]string{"ids", "at", "targets", "actions", "positions"}, name.Name) {
				return true
			}
		}
	}
	return false
}

// functions returns the functions and methods of the package in a directory, without those of its tests.
func functions(t *testing.T, dir string) (list []*ast.FuncDecl) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d files in %s, error %v", len(paths), dir, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				list = append(list, f)
			}
		}
	}
	return list
}
