package nn

import (
	"go/ast"
	"reflect"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

// pointers holds a nil pointer of every exported type of nn that has a method with a pointer receiver.
var pointers = []any{
	(*BinaryCrossEntropy)(nil), (*Block)(nil), (*CrossAttention)(nil), (*CrossEntropy)(nil), (*DecoderBlock)(nil), (*Dropout)(nil),
	(*Elman)(nil), (*Embedding)(nil), (*GatherTokens)(nil), (*GroupedAttention)(nil), (*LayerNorm)(nil), (*LayerNormPlain)(nil),
	(*LayerNormSigma)(nil), (*LearnedPositions)(nil), (*Linear)(nil), (*LinearAttention)(nil), (*Linformer)(nil), (*LoRA)(nil),
	(*Longformer)(nil), (*LongformerMask)(nil), (*MLA)(nil), (*MLALatentRoPE)(nil), (*MLARoPE)(nil), (*MLP)(nil), (*Mask)(nil),
	(*MeanTokens)(nil), (*Memory)(nil), (*PPOClip)(nil), (*PostNormBlock)(nil), (*PostNormDecoderBlock)(nil), (*RMSNorm)(nil),
	(*Reinforce)(nil), (*RoPE)(nil), (*SelfAttention)(nil), (*Sinusoidal)(nil), (*SquaredError)(nil), (*SwiGLU)(nil),
	(*TaylorAttention)(nil), (*Tied)(nil), (*Unprojected)(nil), (*UnprojectedCross)(nil), (*ValueHead)(nil), (*ValueLoss)(nil),
}

// Every exported method of a nil layer or a literal returns an error of its place if it returns an expression. It never
// panics.
func TestNilLayers(t *testing.T) {
	for _, p := range pointers {
		for _, v := range []reflect.Value{reflect.ValueOf(p), reflect.New(reflect.TypeOf(p).Elem())} {
			for i := range v.NumMethod() {
				name := v.Type().String() + "." + v.Type().Method(i).Name
				y, fresh := callMethod(t, name, v.Method(i))
				if v.IsNil() && y.Graph() == fresh {
					if err := fresh.Err(); err == nil || !strings.HasPrefix(err.Error(), "h.1") {
						t.Errorf("%s of nil: got error %v, want one of h.1", name, err)
					}
				}
			}
		}
	}
}

// callMethod calls a method with expressions of a new graph, and returns the first expression among its results.
func callMethod(t *testing.T, name string, method reflect.Value) (y graph.Expr, g *graph.Graph) {
	t.Helper()
	g = graph.New(graph.Float64, 1)
	x := g.Root().Value("x", graph.Normal(1), 6, 8).In(g.Root().Sub("h.1"))
	in := make([]reflect.Value, method.Type().NumIn())
	for i := range in {
		if in[i] = reflect.Zero(method.Type().In(i)); in[i].Type() == reflect.TypeOf(x) {
			in[i] = reflect.ValueOf(x)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", name, r)
		}
	}()
	for _, out := range method.Call(in) {
		if e, ok := out.Interface().(graph.Expr); ok {
			return e, g
		}
	}
	return y, g
}

// The list above is complete.
func TestEveryNilLayerIsTried(t *testing.T) {
	listed := map[string]bool{}
	for _, p := range pointers {
		listed[reflect.TypeOf(p).Elem().Name()] = true
	}
	for _, f := range functions(t, ".") {
		if f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		if star, ok := f.Recv.List[0].Type.(*ast.StarExpr); ok {
			if name := star.X.(*ast.Ident).Name; ast.IsExported(name) && !listed[name] {
				t.Errorf("%s has the method %s, and is not in the list of pointers", name, f.Name.Name)
			}
		}
	}
}
