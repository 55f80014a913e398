package hostile

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// wrong is a value that replaces a valid one, and a description of what is wrong with it.
type wrong struct {
	how string
	v   reflect.Value
}

// wrongs returns the values that may replace a valid value; none of them equals it.
func (w *world) wrongs(good reflect.Value) (list []wrong) {
	t := good.Type()
	add := func(how string, x any) {
		v := reflect.ValueOf(x)
		if !v.IsValid() {
			v = reflect.Zero(t)
		}
		if v = v.Convert(t); !reflect.DeepEqual(v.Interface(), good.Interface()) {
			list = append(list, wrong{how, v})
		}
	}
	zero := func(how string) { add(how, reflect.Zero(t).Interface()) }
	switch good.Interface().(type) {
	case graph.Expr:
		zero("={}")
		add("=of another graph", graph.New(graph.Float64, 1).Root().Param("other", graph.Const(1), 4, 4))
		at := get[graph.Scope](w)
		at = at.Sub("wrong%d", len(at.Graph().Leaves())) // a value may have several expressions
		add("=(3, 5)", at.Value("wide", graph.Const(0), 3, 5))
		add("=(2, 2, 2)", at.Value("cube", graph.Const(0), 2, 2, 2))
		return list
	case graph.Scope:
		zero("={}")
		return list
	case graph.Tensor:
		zero("={}")
		add("=a liar", graph.Tensor{Shape: []int{9, 9}, F64: []float64{1}})
		return list
	case hand.Matrix[float64]:
		for how, m := range matrices[float64]() {
			add(how, m)
		}
		return list
	case hand.Matrix[complex128]:
		for how, m := range matrices[complex128]() {
			add(how, m)
		}
		return list
	case *rand.Rand:
		zero("=nil")
		add("=zero", new(rand.Rand))
		return list
	case nn.Caches:
		zero("=nil")
		return list
	case io.Reader, io.Writer, io.ReaderAt:
		if t.Kind() == reflect.Interface {
			zero("=nil")
			add("=failing", failing{})
			return list
		}
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		for _, n := range []int{0, -1, 1 << 40, math.MaxInt} {
			add(fmt.Sprint("=", n), n)
		}
	case reflect.Float64:
		for _, x := range []float64{0, -1, math.NaN(), math.Inf(1)} {
			add(fmt.Sprint("=", x), x)
		}
	case reflect.String:
		add(`=""`, "")
		add("=typo", "typo\x1b\xff")
	case reflect.Pointer:
		zero("=nil")
		add("=zero", reflect.New(t.Elem()).Interface())
	case reflect.Interface:
		zero("=nil")
		switch e := good.Elem(); {
		case t == reflect.TypeFor[verify.Subject]():
			return append(list, w.wrongs(e)...)
		case e.IsValid() && e.Kind() == reflect.Pointer:
			add("=zero", reflect.New(e.Type().Elem()).Interface())
		}
	case reflect.Func:
		zero("=nil")
		if t.NumOut() > 0 {
			add("=of zeros", returning(t, reflect.Zero).Interface())
		}
		// a part of a model
		if t.NumIn() > 0 && (t.In(0) == reflect.TypeFor[nn.Site]() || t == reflect.TypeFor[graph.Init]()) {
			add("=panics", reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { panic("glass") }).Interface())
		}
	case reflect.Map:
		zero("=nil")
		keys := good.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		// One key is enough. Many layers read the bias, and the rules name it.
		i := max(0, slices.IndexFunc(keys, func(k reflect.Value) bool { return k.String() == "bias" }))
		for _, key := range keys[min(i, len(keys)):min(i+1, len(keys))] {
			for _, e := range append(w.wrongs(good.MapIndex(key)), wrong{" is missing", reflect.Value{}}) {
				v := reflect.MakeMap(t)
				for _, k := range keys {
					v.SetMapIndex(k, good.MapIndex(k))
				}
				v.SetMapIndex(key, e.v)
				list = append(list, wrong{"[" + key.String() + "]" + e.how, v})
			}
		}
	case reflect.Slice:
		zero("=nil")
		if good.Len() > 0 {
			add("=short", good.Slice(0, good.Len()-1).Interface())
			for _, e := range w.wrongs(good.Index(0)) {
				v := reflect.MakeSlice(t, good.Len(), good.Len())
				reflect.Copy(v, good)
				v.Index(0).Set(e.v)
				list = append(list, wrong{"[0]" + e.how, v})
			}
		}
	case reflect.Struct:
		zero("={}")
		for i := range t.NumField() {
			if !t.Field(i).IsExported() {
				continue
			}
			fields := w.wrongs(good.Field(i))
			if _, subject := good.Interface().(verify.Subject); subject && t.Field(i).Name == "Config" {
				fields = fields[:1] // {}: New is called with all others
			}
			for _, f := range fields {
				v := reflect.New(t).Elem()
				v.Set(good)
				v.Field(i).Set(f.v)
				list = append(list, wrong{"." + t.Field(i).Name + f.how, v})
			}
		}
	}
	return list
}

// matrices returns wrong matrices, and literals that no operation returns.
func matrices[T hand.Number]() iter.Seq2[string, hand.Matrix[T]] {
	return func(yield func(string, hand.Matrix[T]) bool) {
		_ = yield("={}", hand.Matrix[T]{}) && yield("=(5, 7)", hand.Zeros[T](5, 7)) &&
			yield("=failed", hand.Matrix[T]{Err: errors.New("it failed")}) &&
			yield("=negative", hand.Matrix[T]{Rows: -1, Cols: -2}) &&
			yield("=short", hand.Matrix[T]{Rows: 2, Cols: 2, Data: []T{1}}) &&
			yield("=long", hand.Matrix[T]{Data: []T{1}}) &&
			yield("=huge", hand.Matrix[T]{Rows: 1 << 40, Cols: 1 << 24})
	}
}

// failing is a file that can neither be read nor written.
type failing struct{}

func (failing) Read([]byte) (int, error)  { return 0, io.ErrUnexpectedEOF }
func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }
