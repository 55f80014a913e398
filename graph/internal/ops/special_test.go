package ops_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/pedestrian-ml/pedestrian/graph"
	. "github.com/pedestrian-ml/pedestrian/graph/fused"
)

// entry is an elementwise operation of Expr: its value and, where known, its derivatives by the operands. For unary
// operations y is 0. A kernel for the same function is tested as well.
type entry struct {
	op     func(x, y Expr) Expr
	kernel func(x Expr) (Expr, bool)
	value  func(x, y float64) float64
	dx, dy func(x, y float64) float64

	excused func(x, got float64) bool // values in float32 that are documented
	limits  bool                      // at ±∞ and the largest numbers, of a kernel alone: the equation overflows
}

func always1(float64, float64) float64 { return 1 }

// entries lists all elementwise operations of Expr. Their derivatives follow Gorgonia's rules for the stock operations,
// so some are NaN at infinities; both forms must agree.
var entryOps = map[string]entry{
	"Add": {op: Expr.Add, value: func(x, y float64) float64 { return x + y }, dx: always1, dy: always1},
	"Sub": {
		op: Expr.Sub, value: func(x, y float64) float64 { return x - y }, dx: always1,
		dy: func(float64, float64) float64 { return -1 },
	},
	"Mul": {
		op: Expr.Mul, value: func(x, y float64) float64 { return x * y }, dx: func(_, y float64) float64 { return y },
		dy: func(x, _ float64) float64 { return x },
	},
	"Div": {op: Expr.Div, value: func(x, y float64) float64 { return x / y }},
	"Pick": {op: Expr.Pick, value: func(x, y float64) float64 {
		if y == 0 {
			return 0
		}
		return x
	}},
	"Scale": {op: func(x, _ Expr) Expr { return x.Scale(-1.5) },
		kernel: func(x Expr) (Expr, bool) { return Scale(x, -1.5) },
		value:  func(x, _ float64) float64 { return -1.5 * x }, dx: func(float64, float64) float64 { return -1.5 }},
	"Shift": {
		op: func(x, _ Expr) Expr { return x.Shift(2) }, value: func(x, _ float64) float64 { return x + 2 }, dx: always1,
	},
	"MulAdd": {
		op:    func(x, _ Expr) Expr { return x.MulAdd([]float64{3}, []float64{1}) },
		value: func(x, _ float64) float64 { return 3*x + 1 }, dx: func(float64, float64) float64 { return 3 },
	},
	"Square": {
		op: func(x, _ Expr) Expr { return x.Square() }, value: func(x, _ float64) float64 { return x * x },
		dx: func(x, _ float64) float64 { return 2 * x },
	},
	"Cube": {op: func(x, _ Expr) Expr { return x.Cube() }, value: func(x, _ float64) float64 { return x * x * x }},
	"Sqrt": {op: func(x, _ Expr) Expr { return x.Sqrt() }, value: func(x, _ float64) float64 { return math.Sqrt(x) }},
	"Exp": {
		op: func(x, _ Expr) Expr { return x.Exp() }, value: func(x, _ float64) float64 { return math.Exp(x) },
		dx: func(x, _ float64) float64 { return math.Exp(x) },
	},
	"Log": {op: func(x, _ Expr) Expr { return x.Log() }, value: func(x, _ float64) float64 { return math.Log(x) },
		excused: func(x, got float64) bool { return 0 < x && x < 0x1p-126 && -88.1 < got && got < -87.3 }},
	"Abs": {
		op: func(x, _ Expr) Expr { return x.Abs() }, value: func(x, _ float64) float64 { return math.Abs(x) },
		dx: func(x, _ float64) float64 { return larger(x, 0) - larger(0, x) },
	},
	"Sin": {
		op: func(x, _ Expr) Expr { return x.Sin() }, value: func(x, _ float64) float64 { return math.Sin(x) },
		dx: func(x, _ float64) float64 { return math.Cos(x) },
	},
	"Cos": {
		op: func(x, _ Expr) Expr { return x.Cos() }, value: func(x, _ float64) float64 { return math.Cos(x) },
		dx: func(x, _ float64) float64 { return -math.Sin(x) },
	},
	"Pow": {
		op: func(x, _ Expr) Expr { return x.Pow(3) }, value: func(x, _ float64) float64 { return math.Pow(x, 3) },
		dx: func(x, _ float64) float64 { return 3 * math.Pow(x, 2) },
	},
	"Clamp": {
		op:    func(x, _ Expr) Expr { return x.Clamp(-1, 2) },
		value: func(x, _ float64) float64 { return min(max(x, -1), 2) },
		dx:    func(x, _ float64) float64 { return step(2-x) * (1 - step(-1-x)) },
	},
	"Max": {
		op: Expr.Max, value: func(x, y float64) float64 { return max(x, y) }, dx: larger,
		dy: func(x, y float64) float64 { return larger(y, x) },
	},
	"Min": {
		op: Expr.Min, value: func(x, y float64) float64 { return min(x, y) },
		dx: func(x, y float64) float64 { return larger(y, x) }, dy: larger,
	},
	"Tanh": {op: func(x, _ Expr) Expr { return x.Tanh() }, value: func(x, _ float64) float64 { return math.Tanh(x) }},
	"Erf":  {op: func(x, _ Expr) Expr { return x.Erf() }, value: func(x, _ float64) float64 { return math.Erf(x) }},
	"Detach": {
		op: func(x, _ Expr) Expr { return x.Detach().Add(x) }, value: func(x, _ float64) float64 { return 2 * x },
		dx: always1,
	},
	"ReLU": {op: func(x, _ Expr) Expr { return x.ReLU() }, kernel: ReLU,
		value: func(x, _ float64) float64 { return max(x, 0) },
		dx:    func(x, _ float64) float64 { return step(x) }},
	"ReLU2": {op: func(x, _ Expr) Expr { return x.ReLU().Square() }, kernel: ReLU2, limits: true,
		value: func(x, _ float64) float64 { return max(x, 0) * max(x, 0) },
		dx:    func(x, _ float64) float64 { return 2 * max(x, 0) }},
	"Sigmoid": {op: func(x, _ Expr) Expr { return x.Sigmoid() }, kernel: Sigmoid,
		value: func(x, _ float64) float64 { return logistic(x) },
		dx:    func(x, _ float64) float64 { return logistic(x) * logistic(-x) }},
	"GELU": {
		op:     func(x, _ Expr) Expr { return x.Scale(1 / math.Sqrt2).Erf().Shift(1).Mul(x).Scale(0.5) },
		kernel: GELU, limits: true,
		value: func(x, _ float64) float64 { return vanishing(math.Erfc(-x/math.Sqrt2)/2, x) },
		dx: func(x, _ float64) float64 {
			return math.Erfc(-x/math.Sqrt2)/2 + vanishing(math.Exp(-x*x/2)/math.Sqrt(2*math.Pi), x)
		},
	},
	"GELUTanh": {
		op: func(x, _ Expr) Expr {
			return x.Cube().Scale(0.044715).Add(x).Scale(math.Sqrt(2 / math.Pi)).Tanh().Shift(1).Mul(x).Scale(0.5)
		},
		kernel: GELUTanh, limits: true,
		value: func(x, _ float64) float64 { return vanishing(logistic(twiceU(x)), x) },
		dx: func(x, _ float64) float64 {
			s, rest := logistic(twiceU(x)), logistic(-twiceU(x))
			return s + vanishing(s*rest, 2*math.Sqrt(2/math.Pi)*(x+3*0.044715*x*x*x))
		},
	},
	"SiLU": {
		op: func(x, _ Expr) Expr { return x.Mul(x.Sigmoid()) }, kernel: SiLU, limits: true,
		value: func(x, _ float64) float64 { return vanishing(logistic(x), x) },
		dx:    func(x, _ float64) float64 { return logistic(x) + vanishing(logistic(x)*logistic(-x), x) },
	},
	"Softplus": {op: func(x, _ Expr) Expr { return x.Softplus() }, kernel: Softplus,
		value: func(x, _ float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
		dx:    func(x, _ float64) float64 { return logistic(x) }},
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// vanishing is a·x, and 0 where a is 0, also for x = ±∞.
func vanishing(a, x float64) float64 {
	if a == 0 {
		return 0
	}
	return a * x
}

// twiceU is 2u of GELUTanh, √(8/π)(x + 0.044715·x³).
func twiceU(x float64) float64 { return 2 * math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }

func step(x float64) float64 {
	if x > 0 {
		return 1
	}
	return 0
}

// larger is the derivative of max(x, y) by x.
func larger(x, y float64) float64 {
	switch {
	case x > y:
		return 1
	case x == y:
		return 0.5
	}
	return 0
}

// notEntrywise lists the other methods that return an Expr: they move, sum or look up entries, create new ones, or add
// an operation of another package.
var notEntrywise = strings.Fields("Gather Softmax LogSumExp RowMax Sum Mean SumAll MulAddAt Reshape Dropout " +
	"ArgMax Advance AddInts ScaleInts ModInts DelayInts OneHot In Wrap MatMul MatMulT Transpose Columns Join Row " +
	"Apply CumSum CumProd Delay Scan Rows TopK TopKBy Where Kernel Operate OperateInts ByRule")

// special returns numbers at the limits of a type.
func special(dtype Dtype) []float64 {
	tiny, least, largest := 0x1p-1022, 0x1p-1074, math.MaxFloat64
	if dtype == Float32 {
		tiny, least, largest = 0x1p-126, 0x1p-149, math.MaxFloat32
	}
	return []float64{
		math.Inf(-1), -largest, -1, -tiny, -least, math.Copysign(0, -1), 0, least, tiny - least, tiny, 1, largest,
		math.Inf(1), math.NaN(),
	}
}

// round returns a number rounded to the type.
func round(dtype Dtype, x float64) float64 {
	if dtype == Float32 {
		return float64(float32(x))
	}
	return x
}

// agree reports whether two numbers are equal up to rounding. Subnormal numbers count as 0, because kernels flush them.
// NaN equals NaN.
func agree(dtype Dtype, got, want float64) bool {
	tolerance, tiny := 1e-14, 0x1p-1021
	if dtype == Float32 {
		tolerance, tiny = 5e-7, 0x1p-125
	}
	want = round(dtype, want)
	return got == want || got != got && want != want || math.Abs(got-want) <= tolerance*math.Abs(want)+tiny
}

// Every elementwise operation has the right value and derivatives at infinities, zeros, the largest and smallest
// numbers and NaN, and at all pairs of these, in both types, with kernels and without. A kernel agrees with its
// equation.
func TestOperationsAtTheEndsOfTheNumbers(t *testing.T) {
	for name, e := range entryOps {
		for _, dtype := range []Dtype{Float64, Float32} {
			list := special(dtype)
			for form, kernels := range map[string]bool{
				"reference": false, "equation with kernels": true, "kernel": true,
			} {
				if form == "kernel" && e.kernel == nil {
					continue
				}
				g := New(dtype, 1)
				g.Kernels = kernels
				x := g.Root().Param("x", Const(0), len(list), len(list))
				y := g.Root().Param("y", Const(0), len(list), len(list))
				for i := range list {
					for j := range list {
						x.Tensor().Set(i*len(list)+j, list[i])
						y.Tensor().Set(i*len(list)+j, list[j])
					}
				}
				z := e.op(x, y)
				if form == "kernel" {
					z, _ = e.kernel(x)
				}
				wrt := []Expr{x}
				if e.dy != nil {
					wrt = append(wrt, y)
				}
				p, err := CompileWith(z.SumAll(), []Expr{z}, wrt...)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				mustRun(t, p)
				for k, v := range p.Kept(z).Floats() {
					a, b := x.Tensor().At(k), y.Tensor().At(k)
					what := fmt.Sprintf("%s, %v, %s, of %v and %v", name, dtype, form, a, b)
					if e.limits && form != "kernel" && math.Abs(a) >= list[len(list)-3] {
						continue
					}
					want := e.value(a, b)
					if excused := dtype == Float32 && e.excused != nil && e.excused(a, v); !excused &&
						!agree(dtype, v, want) {
						t.Errorf("%s: got %v, want %v", what, v, want)
					}
					if got := p.Grad(x).At(k); e.dx != nil && a == a && !agree(dtype, got, e.dx(a, b)) {
						t.Errorf("%s: got the derivative %v, want %v", what, got, e.dx(a, b))
					}
					if e.dy != nil && !agree(dtype, p.Grad(y).At(k), e.dy(a, b)) {
						t.Errorf("%s: got the derivative by y %v, want %v", what, p.Grad(y).At(k), e.dy(a, b))
					}
				}
			}
		}
	}
}

// Every method of Expr that returns an Expr is in one of the lists above.
func TestEveryOperationIsTriedAtTheEnds(t *testing.T) {
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !f.Name.IsExported() || f.Type.Results == nil {
				continue
			}
			from, isFrom := f.Recv.List[0].Type.(*ast.Ident)
			to, isTo := f.Type.Results.List[0].Type.(*ast.Ident)
			if !isFrom || !isTo || from.Name != "Expr" || to.Name != "Expr" {
				continue
			}
			if _, tried := entryOps[f.Name.Name]; !tried && !slices.Contains(notEntrywise, f.Name.Name) {
				t.Errorf("Expr.%s is in none of the lists", f.Name.Name)
			}
		}
	}
}

// sourceFile is a Go file of graph, of graph/fused or of this package.
type sourceFile struct {
	test   bool
	syntax *ast.File
}

// sources parses the files of graph, of graph/fused and of this package.
func sources(t *testing.T) (files []sourceFile) {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"../../*.go", "../../fused/*.go", "*.go"} {
		list, err := filepath.Glob(pattern)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: got %d files and error %v", pattern, len(list), err)
		}
		paths = append(paths, list...)
	}
	for _, path := range paths {
		syntax, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, sourceFile{strings.HasSuffix(path, "_test.go"), syntax})
	}
	return files
}
