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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
		x := g.Root().Value("x", graph.Normal(1), batch*context, d)
		back := g.Root().Ints("back", batch*context, batch*context, -1)
		for i := range back.Ints() {
			back.Ints()[i] = i/context*context + (context - 1 - i%context)
		}
		ids := places(at)
		mean, turned := NewMeanTokens(at).Forward(x), NewMeanTokens(at).Forward(x.Gather(back))
		one := NewGatherTokens(at, ids).Forward(x)
		// programs share memory
		m, r, o := run(t, mean).Value().Clone().F64, run(t, turned).Value().Clone().F64, run(t, one).Value().F64
		for b := range batch {
			for j := range d {
				if got := o[b*d+j]; got != x.Tensor().F64[(b*context+ids.Ints()[b])*d+j] {
					t.Errorf(
						"kernels %t: token %d of sequence %d, feature %d: got %v", kernels, ids.Ints()[b], b, j, got,
					)
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
				t.Errorf(
					"kernels %t, entry %d: got %v after moving the first sequence by 7, before %v", kernels, i,
					moved[i], want,
				)
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
			if err := p.Run(); err == nil || !strings.Contains(err.Error(), "pool.at[1] is ") ||
				!strings.Contains(err.Error(), "not in 0 … 4") {
				t.Errorf("kernels %t, place %d: got %v", kernels, place, err)
			}
		}
	}
}

// A number of tokens that differs from the site's is an error of the layer, in both forms.
func TestPoolingOfOtherTokens(t *testing.T) {
	for _, kernels := range []bool{false, true} {
		for want, pool := range map[string]func(at Site, x graph.Expr) graph.Expr{
			"pool: mean of tokens x (15, 3): ": func(at Site, x graph.Expr) graph.Expr {
				return NewMeanTokens(at).Forward(x)
			},
			"pool: gather tokens x (15, 3), ": func(at Site, x graph.Expr) graph.Expr {
				return NewGatherTokens(at, places(at)).Forward(x)
			},
		} {
			g := graph.New(graph.Float64, 1)
			g.Kernels = kernels
			at := Site{Scope: g.Root().Sub("pool"), Dims: Dims{Batch: 2, Context: 5, Embd: 3}}
			_, err := graph.Compile(pool(at, g.Root().Value("x", graph.Normal(1), 15, 3)))
			if err == nil || kernels && !strings.HasPrefix(err.Error(), want) ||
				!strings.Contains(err.Error(), "pool: ") {
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
		return NewSinusoidal(at, 100).Forward(x.Columns(0, 4))
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
	"log probabilities": {
		10, false, "LogProbs", func(at Site, x, ids graph.Expr) graph.Expr { return LogProbs(x, ids) },
	},
	"dpo": {10, false, "DPO", func(at Site, x, ids graph.Expr) graph.Expr {
		return NewDPO(at.Scope, 2).Forward(x, ids, at.Value("reference", graph.Const(-1), 2, 1))
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
	return Rollout{
		Actions: actions, Returns: number("returns", 1), Weights: number("weights", 1), LogProbs: number("old", -1.6),
	}
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
						want = fmt.Sprintf(
							"a.ids: the ignored id is %d, want one outside 0 … 4, or NoneIgnored", ignore,
						)
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

// The table above has every exported operation of graph and graph/fused with ids among its operands.
func TestEveryReaderOfIDsIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, r := range idReaders {
		tried[r.operation] = true
	}
	found := 0
	for _, f := range append(functions(t, "../graph"), functions(t, "../graph/fused")...) {
		if !f.Name.IsExported() || !hasIDs(f) || f.Type.Results == nil || strings.HasPrefix(f.Name.Name, "Cached") ||
			f.Name.Name == "Advance" || strings.HasSuffix(f.Name.Name, "Ints") {
			continue // a cache reads one position, and Advance and AddInts compute ids, but none reads a row by them
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
		if of, qualified := field.Type.(*ast.SelectorExpr); qualified { // graph.Expr
			kind, ok = of.Sel, true
		}
		for _, name := range field.Names {
			if ok && kind.Name == "Expr" && slices.Contains(
				[]string{"ids", "at", "targets", "actions", "positions"}, name.Name,
			) {
				return true
			}
		}
	}
	return false
}

// functions returns the functions and methods of the package in a directory, without its tests'.
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

// positioned returns at with the positions of n tokens for each sequence of the batch, beginning at from.
func positioned(at Site, n, from int) Site {
	at.Positions = at.Ints("positions", at.Batch*n, at.Context, -1)
	for i := range at.Positions.Ints() {
		at.Positions.Ints()[i] = from + i%n
	}
	return at
}

// rotary returns at with rotary positions for queries and keys, whose size it makes even.
func rotary(at Site) Site {
	at = positioned(at, at.Context, 0)
	at.QK += at.QK % 2
	at.Rotary = NewRoPE(at.At("rope"), at.QK, 100)
	return at
}

var ropeLayerCases = []layerCase{
	{"rope", "RoPE", func(at Site, x graph.Expr) graph.Expr { // with columns left over in every shape of odd width
		size := 2 * max(1, at.Embd/6)
		return NewRoPE(positioned(at, at.Context, 0), size, 100).Rotate(x, at.Embd/size, size)
	}},
	{"rope in one group", "RoPE", func(at Site, x graph.Expr) graph.Expr {
		at = positioned(at, at.Context, 0)
		at.Embd -= at.Embd % 2
		return NewRoPE(at, at.Embd, 10000).Forward(x.Columns(0, at.Embd))
	}},
	{"partial rope", "RoPE", func(at Site, x graph.Expr) graph.Expr {
		size := 2 * max(1, at.Embd/6)
		return NewPartialRoPE(positioned(at, at.Context, 0), size, 2, 100).Rotate(x, at.Embd/size, size)
	}},
	{"attention with rope", "SelfAttention RoPE", func(at Site, x graph.Expr) graph.Expr {
		return NewSelfAttention(rotary(at)).Forward(x)
	}},
}

// ropeDims holds sizes for RoPE alone: 3 groups of 4.
var ropeDims = Dims{Batch: 2, Context: 9, Embd: 12, Heads: 3, QK: 4, V: 4, Blocks: 1}

// rotated returns x (B·T, 12) rotated, with the positions shifted by from.
func rotated(t *testing.T, kernels bool, from int, x []float64) graph.Tensor {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	g.Kernels = kernels
	d := ropeDims
	d.Context += from
	at := positioned(newSite(g, d), ropeDims.Context, from)
	in := g.Root().Value("x", func(i int, _ *rand.Rand) float64 { return x[i] }, d.Batch*ropeDims.Context, d.Embd)
	return output(t, NewRoPE(at, d.QK, 100).Forward(in))
}

func ropeInput() []float64 {
	rng := rand.New(rand.NewPCG(8, 1))
	x := make([]float64, ropeDims.Batch*ropeDims.Context*ropeDims.Embd)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func product(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// TestI08NormsAreKept for every pair, and therefore for every group and row.
func TestI08NormsAreKept(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		x := ropeInput()
		y := rotated(t, kernels, 0, x).F64
		moved := 0
		for i := 0; i < len(x); i += 2 {
			got, want := math.Hypot(y[i], y[i+1]), math.Hypot(x[i], x[i+1])
			if !(math.Abs(got-want) <= 1e-12) {
				t.Errorf("kernels %t, pair %d: length %v, want %v", kernels, i/2, got, want)
			}
			if math.Abs(y[i]-x[i]) > 1e-9 {
				moved++
			}
		}
		if want := len(x) / 2 * (ropeDims.Context - 1) / ropeDims.Context; moved != want {
			t.Errorf("kernels %t: %d pairs are rotated, want %d", kernels, moved, want)
		}
	}
}

// TestI08ProductsDependOnTheDistance puts one query and one key at every position. ⟨R_i q, R_j k⟩ is the same for equal
// i − j, also if all positions are shifted, and differs between distances.
func TestI08ProductsDependOnTheDistance(t *testing.T) {
	n, w := ropeDims.Context, ropeDims.Embd
	random := ropeInput()
	q, k := random[:w], random[w:2*w]
	x := make([]float64, 0, 2*n*w)
	for range n {
		x = append(x, q...)
	}
	for range n { // the second sequence
		x = append(x, k...)
	}
	for _, kernels := range []bool{true, false} {
		var worst float64
		at := map[int]float64{}
		for _, from := range []int{0, 5} {
			y := rotated(t, kernels, from, x).F64
			for i := range n {
				for j := range n {
					got := product(y[i*w:(i+1)*w], y[(n+j)*w:(n+j+1)*w])
					want, known := at[i-j]
					if !known {
						at[i-j] = got
						continue
					}
					worst = max(worst, math.Abs(got-want))
					if !(math.Abs(got-want) <= 1e-12) {
						t.Errorf(
							"kernels %t: query at %d, key at %d: %v, elsewhere at this distance %v", kernels, i+from,
							j+from, got, want,
						)
					}
				}
			}
		}
		if math.Abs(at[0]-product(q, k)) > 1e-12 || math.Abs(at[1]-at[0]) < 1e-3 || math.Abs(at[1]-at[-1]) < 1e-3 {
			t.Errorf(
				"kernels %t: distances 0, 1, −1 have %v, %v, %v, and q·k is %v", kernels, at[0], at[1], at[-1],
				product(q, k),
			)
		}
		t.Logf("kernels %t: at most %.1e apart", kernels, worst)
	}
}

// TestI08PositionZeroIsTheIdentity, to the bit, and only position 0 is.
func TestI08PositionZeroIsTheIdentity(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		x := ropeInput()
		y := rotated(t, kernels, 0, x).F64
		w := ropeDims.Embd
		for row := range ropeDims.Batch * ropeDims.Context {
			same := true
			for i := row * w; i < (row+1)*w; i++ {
				same = same && x[i] == y[i]
			}
			if want := row%ropeDims.Context == 0; same != want {
				t.Errorf("kernels %t, row %d: unchanged %t, want %t", kernels, row, same, want)
			}
		}
	}
}

// TestI08BackwardRotatesBack: the gradient is Δ rotated by −φ, so rotating it by φ gives Δ.
func TestI08BackwardRotatesBack(t *testing.T) {
	for _, kernels := range []bool{true, false} {
		g := graph.New(graph.Float64, 3)
		g.Kernels = kernels
		d := ropeDims
		at := positioned(newSite(g, d), d.Context, 0)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
		delta := g.Root().Value("delta", graph.Normal(1), d.Batch*d.Context, d.Embd)
		p, err := graph.Compile(NewRoPE(at, d.QK, 100).Forward(x).Mul(delta).SumAll(), x)
		if err != nil {
			t.Fatalf("%+v", err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		back := rotated(t, kernels, 0, p.Grad(x).F64)
		if e := distance(back, delta.Tensor(), 0); !(e <= 1e-12) {
			t.Errorf("kernels %t: rotated forward again the gradient is %.2g from Δ", kernels, e)
		}
		if e := distance(p.Grad(x), delta.Tensor(), 0); !(e > 0.1) {
			t.Errorf("kernels %t: the gradient is %.2g from Δ: nothing was rotated", kernels, e)
		}
	}
}

// TestI08StepEqualsForward decodes with a cache of rotated keys.
func TestI08StepEqualsForward(t *testing.T) {
	for _, d := range shapes {
		d.QK += d.QK % 2
		t.Run(fmt.Sprintf("%+v", d), func(t *testing.T) {
			decodingEqualsForward(t, d, func(at Site) Cached {
				at.Rotary = NewRoPE(at.At("rope"), at.QK, 100)
				return NewSelfAttention(at)
			})
		})
	}
}

// decodingEqualsForward decodes the rows of a random x token by token, then in blocks, on top of the caches of the
// previous round, and compares every row of the result with the forward pass. The site has positions.
func decodingEqualsForward(t *testing.T, d Dims, build func(at Site) Cached) (caches Caches) {
	t.Helper()
	g := graph.New(graph.Float64, 3)
	x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, d.Embd)
	y := build(positioned(newSite(g, d), d.Context, 0)).Forward(x)
	// as large as the input, so that attention is far from uniform and scores are not huge
	for _, p := range g.Params() {
		rng, w := rand.New(rand.NewPCG(5, uint64(p.Tensor().Len()))), p.Tensor()
		for i := range w.Len() {
			w.Set(i, 1.5*rng.NormFloat64()/math.Sqrt(float64(w.Shape[0])))
		}
	}
	want := output(t, y)
	caches = Caches{}
	worst := 0.0
	for _, block := range []int{1, max(1, d.Context/2)} {
		for at, n := 0, block; at < d.Context; at += n {
			if at+n > d.Context {
				n = 1
			}
			s := g.Sibling()
			site := positioned(newSite(s, d), n, at)
			site.Caches = caches
			tokens := s.Root().Value("x", graph.Const(0), d.Batch*n, d.Embd)
			pos := s.Root().Ints("pos", 1, d.Context, -1)
			pos.Ints()[0] = at
			for b := range d.Batch {
				copy(tokens.Tensor().F64[b*n*d.Embd:(b+1)*n*d.Embd], x.Tensor().F64[(b*d.Context+at)*d.Embd:])
			}
			for j, got := range output(t, build(site).Step(tokens, pos)).F64 {
				b, rest := j/(n*d.Embd), j%(n*d.Embd)
				w := want.F64[(b*d.Context+at)*d.Embd+rest]
				worst = max(worst, math.Abs(got-w)/max(1, math.Abs(w)))
				if !(math.Abs(got-w) <= 1e-12*max(1, math.Abs(w))) {
					t.Fatalf(
						"sequence %d, token %d, feature %d: got %v, want %v", b, at+rest/d.Embd, rest%d.Embd, got, w,
					)
				}
			}
		}
	}
	t.Logf("at most %.1e apart", worst)
	return caches
}

// The rotating features of a group turn as in a RoPE of their own size, and the others stay as they are.
func TestI86TurnsTheFirstFeatures(t *testing.T) {
	d := ropeDims
	for _, kernels := range []bool{false, true} {
		g := graph.New(graph.Float64, 5)
		g.Kernels = kernels
		at := positioned(newSite(g, d), d.Context, 0)
		x := g.Root().Value("x", graph.Normal(1), d.Batch*d.Context, 12)
		partial := output(t, NewPartialRoPE(at.At("partial"), 6, 4, 100).Rotate(x, 2, 6))
		in := output(t, x)
		for group := range 2 {
			own := output(
				t, NewRoPE(at.At(fmt.Sprintf("own%d", group)), 4, 100).Rotate(x.Columns(6*group, 6*group+4), 1, 4),
			)
			for row := range d.Batch * d.Context {
				for j := range 6 {
					want := in.F64[row*12+6*group+j]
					if j < 4 {
						want = own.F64[row*4+j]
					}
					if got := partial.F64[row*12+6*group+j]; got != want {
						t.Fatalf(
							"kernels %t, row %d, group %d, feature %d: got %v, want %v", kernels, row, group, j, got,
							want,
						)
					}
				}
			}
		}
	}
}

// Llama 3.1's frequencies, θ 500000 and 128 features, by its published settings: the first pairs keep their frequency,
// the last are divided by 8, and the pair between is between. YaRN keeps and divides likewise, and linear scaling puts
// token 4t where t was.
func TestI87Frequencies(t *testing.T) {
	const theta, dim = 500_000, 128
	llama, yarn := Llama3Scaling{8, 8192}, YaRN{Factor: 4, Original: 32768}
	for pair, want := range map[int]float64{0: 1, 20: 1, 40: 1. / 8, 63: 1. / 8} {
		if got := llama.Frequency(pair, dim, theta) / rotaryFrequency(pair, dim, theta); math.Abs(got-want) > 1e-12 {
			t.Errorf("llama3, pair %d: factor %v, want %v", pair, got, want)
		}
	}
	if got := llama.Frequency(32, dim, theta) / rotaryFrequency(32, dim, theta); !(got > 1./8 && got < 1) {
		t.Errorf("llama3, pair 32: factor %v, want between 1/8 and 1", got)
	}
	for pair, want := range map[int]float64{0: 1, 24: 1, 42: 1. / 4, 63: 1. / 4} {
		if got := yarn.Frequency(pair, dim, theta) / rotaryFrequency(pair, dim, theta); math.Abs(got-want) > 1e-12 {
			t.Errorf("yarn, pair %d: factor %v, want %v", pair, got, want)
		}
	}
	meets := YaRN{Factor: 4, Original: 6} // no pair turns as slowly as once: all are divided but the first
	for pair := range 4 {
		want := rotaryFrequency(pair, 8, theta) / 4
		if pair == 0 {
			want *= 4
		}
		if got := meets.Frequency(pair, 8, theta); !(math.Abs(got-want) <= 1e-12) {
			t.Errorf("yarn whose borders meet, pair %d: frequency %v, want %v", pair, got, want)
		}
	}
	if got, want := yarn.Magnitude(), 0.1*math.Log(4)+1; got != want {
		t.Errorf("yarn: magnitude %v, want %v", got, want)
	}
	long := LongRoPE{Factors: []float64{1, 1.5, 4}, Scale: 1.25}
	for pair, want := range []float64{1, 1 / 1.5, 1. / 4} {
		if got := long.Frequency(pair, 6, theta) / rotaryFrequency(pair, 6, theta); math.Abs(got-want) > 1e-12 {
			t.Errorf("longrope, pair %d: factor %v, want %v", pair, got, want)
		}
	}
	if long.Frequency(3, 8, theta) != 0 || long.Frequency(-1, 8, theta) != 0 || long.Magnitude() != 1.25 {
		t.Errorf("longrope: a pair without a factor has the frequency %v", long.Frequency(3, 8, theta))
	}
	table := func(scaling RotaryScaling) []float64 {
		g := graph.New(graph.Float64, 1)
		at := positioned(newSite(g, ropeDims), ropeDims.Context, 0)
		return NewScaledRoPE(at, 8, 8, 100, scaling).Cos.Tensor().F64
	}
	plain, stretched := table(nil), table(LinearScaling{4})
	for pos := 0; 4*pos < ropeDims.Context; pos++ {
		if diff := cmp.Diff(plain[4*pos:][:4], stretched[16*pos:][:4]); diff != "" && pos > 0 {
			t.Errorf("token %d: %s", 4*pos, diff)
		}
	}
	for name, s := range map[string]RotaryScaling{
		"llama3": Llama3Scaling{1, 50}, "yarn": YaRN{Factor: 1, Original: 50}, "linear": LinearScaling{1},
		"longrope": LongRoPE{[]float64{1, 1, 1, 1}, 1},
	} {
		if diff := cmp.Diff(plain, table(s), cmpopts.EquateApprox(0, 1e-14)); diff != "" {
			t.Errorf("%s by 1: %s", name, diff)
		}
	}
}

// TestRoPEErrors: invalid sizes are errors where the layer is built.
func TestRoPEErrors(t *testing.T) {
	for want, build := range map[string]func(at Site, x graph.Expr) graph.Expr{
		"h.0.rope: size 5: rotary positions rotate pairs, so 4 or 6 features " +
			"are needed": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 5, 100).Forward(x)
		},
		"h.0.rope: size 0: rotary positions rotate pairs, so at least 2 features " +
			"are needed": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 0, 100).Forward(x)
		},
		"h.0.rope: rotary dimension 3: rotary positions rotate pairs, so an even number from 2 to 4 " +
			"is needed": func(at Site, x graph.Expr) graph.Expr {
			return NewPartialRoPE(at.At("rope"), 4, 3, 100).Forward(x)
		},
		"h.0.rope: rotary dimension 6": func(at Site, x graph.Expr) graph.Expr {
			return NewPartialRoPE(at.At("rope"), 4, 6, 100).Forward(x)
		},
		"h.0.rope: nn.LinearScaling{Factor:0}: frequency +Inf of pair 0, want a " +
			"number above 0": func(at Site, x graph.Expr) graph.Expr {
			return NewScaledRoPE(at.At("rope"), 4, 4, 100, LinearScaling{}).Forward(x)
		},
		"h.0.rope: theta 0: a base greater than 0 is needed": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 4, 0).Forward(x)
		},
		"h.0.rope: theta NaN: ": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 4, math.NaN()).Forward(x)
		},
		"h.0.rope: no positions: the site must give the positions of the " +
			"18 tokens": func(at Site, x graph.Expr) graph.Expr {
			at.Positions = graph.Expr{}
			return NewRoPE(at.At("rope"), 4, 100).Forward(x)
		},
		"h.0.rope: groups of 8 columns do not divide 12 features": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 8, 100).Forward(x)
		},
		"h.0.rope: groups of 6 columns for rotary positions of size 4": func(at Site, x graph.Expr) graph.Expr {
			return NewRoPE(at.At("rope"), 4, 100).Rotate(x, 2, 6)
		},
		"(18, 12) is not (18, 16 or more): 18 positions, 4 groups of 4 columns|h.0: columns 0:16 h.0.x (18, 12): no " +
			"such columns": func(at Site, x graph.Expr) graph.Expr { // more groups than there are columns
			return NewRoPE(at.At("rope"), 4, 100).Rotate(x, 4, 4)
		},
		"ids up to 8 for 8 ": func(at Site, x graph.Expr) graph.Expr { // positions that the tables do not have
			at.Context--
			return NewRoPE(at.At("rope"), 4, 100).Forward(x)
		},
		// 18 positions for 9 tokens
		"18 positions, 3 groups of 4 columns|108 entries cannot become 216": func(at Site, _ graph.Expr) graph.Expr {
			at.Batch = 1
			return NewRoPE(at.At("rope"), 4, 100).Forward(at.Value("fewer", graph.Const(1), at.Context, at.Embd))
		},
	} {
		for _, kernels := range []bool{true, false} {
			g := graph.New(graph.Float64, 3)
			g.Kernels = kernels
			at := positioned(newSite(g, ropeDims), ropeDims.Context, 0)
			_, err := graph.Compile(build(at, at.Value("x", graph.Normal(1), at.Batch*at.Context, at.Embd)))
			if err == nil || !slices.ContainsFunc(
				strings.Split(want, "|"), func(w string) bool { return strings.Contains(err.Error(), w) },
			) {
				t.Errorf("kernels %t: got %v, want %s", kernels, err, want)
			}
		}
	}
}
