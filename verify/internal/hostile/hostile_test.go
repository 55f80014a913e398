package hostile

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"reflect"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/decode"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// TestWrongValues calls every function and method with valid arguments, and then with each of them replaced by each
// wrong value of its type, by day by a third of those. Nothing panics, no call allocates more than 64 MiB, and a wrong
// value is an error, at once or when the result is compiled and run.
func TestWrongValues(t *testing.T) {
	s := newSource()
	s.dir = checkpoints(t, s)
	t.Chdir(s.dir) // for the directories that wrong names create
	nightly := os.Getenv("NIGHTLY") != ""
	called, required, silent := 0, 0, 0
	for _, c := range s.calls {
		if uncalled[c.name] != "" {
			continue
		}
		w := s.world()
		args, err := w.tryArgs(c)
		if err != nil {
			t.Errorf("%s: no valid arguments: %v", c.name, err)
			continue
		}
		works := false
		if out := attempt(t, w, c, c.name, args); out.failed == nil && out.can {
			works = match(unchecked, c.name) == ""
		}
		called++
		for i := range args {
			var kept []wrong // that belong to no world: built once
			for k := 0; ; k++ {
				if k > 1 && (!works && k%3 != 0 || !nightly && k%3 != i%3) { // only some of them if no error can occur
					if k > 200 {
						break
					}
					continue
				}
				w := s.world()
				args, err := w.tryArgs(c)
				if err != nil {
					t.Fatal(err)
				}
				list := kept
				if list == nil {
					list = w.wrongs(args[i])
				}
				if k == 0 && worldless(args[i].Type()) {
					kept = list
				}
				if k >= len(list) {
					break
				}
				bad := list[k]
				if nilLayer := strings.HasPrefix(c.name, "nn."); i == 0 && bad.how == "=nil" && c.method && (c.field ||
					nilLayer) {
					continue
				}
				args[i] = bad.v
				name := fmt.Sprintf("%s %d%s", c.name, i, bad.how)
				out := attempt(t, w, c, name, args)
				called++
				if !works || !mustFail(c, args, i, bad.how) {
					continue
				}
				required++
				if out.failed != nil && strings.Contains(out.failed.Error(), "declared twice") {
					t.Errorf("%s: %v: an error of this test, not of the value", name, out.failed)
				}
				if out.failed == nil {
					silent++
					t.Errorf("%s: no error", name)
				}
			}
		}
	}
	if called < 14000 || required < 4200 || nightly && (called < 25000 || required < 9500) {
		t.Errorf("%d calls, an error required of %d: fewer than there were", called, required)
	}
	t.Logf("%d calls, an error required of %d, silent %d", called, required, silent)
}

// worldless reports whether the wrong values of a type belong to no world: configurations, and the layers by hand.
func worldless(t reflect.Type) bool {
	return t == reflect.TypeFor[gpt.Config]() || t == reflect.TypeFor[seq2seq.Config]() ||
		t.PkgPath() == module+"verify/hand"
}

// tryArgs returns the valid arguments, or an error if there are none.
func (w *world) tryArgs(c call) (args []reflect.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return w.args(c), nil
}

// outcome is the result of a call: whether it can return an error, and the error that it returned.
type outcome struct {
	can    bool
	failed error
}

// attempt calls the function and uses its results.
func attempt(t *testing.T, w *world, c call, name string, args []reflect.Value) (out outcome) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	before := sample[0].Value.Uint64()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", name, r)
			out.failed = fmt.Errorf("panic: %v", r)
		}
		metrics.Read(sample)
		if bytes := sample[0].Value.Uint64() - before; bytes > 64<<20 {
			t.Errorf("%s: %d MiB allocated", name, bytes>>20)
		}
	}()
	results := c.f.Call(args)
	for i, r := range results {
		out.use(w, r, i == len(results)-1)
	}
	for _, a := range args { // an error of a graph is returned when it is compiled
		switch a := a.Interface().(type) {
		case *graph.Graph:
			out.graph(a)
		case graph.Scope:
			out.graph(a.Graph())
		case nn.Site:
			out.graph(a.Scope.Graph())
		}
	}
	return out
}

func (o *outcome) err(err error) {
	o.can = true
	if o.failed == nil {
		o.failed = err
	}
}

func (o *outcome) graph(g *graph.Graph) {
	if g != nil && o.failed == nil {
		o.failed = g.Err()
	}
}

// use uses a result as intended, to obtain the error that it carries.
func (o *outcome) use(w *world, r reflect.Value, last bool) {
	switch v := r.Interface().(type) {
	case error:
		o.err(v)
	case graph.Expr:
		p, err := graph.Compile(v)
		if err == nil {
			err = p.Run()
		}
		o.err(err)
	case *graph.Graph:
		if v != nil && len(v.Params()) == 0 {
			o.use(w, reflect.ValueOf(v.Root().Param("used", graph.Const(1), 1)), false)
		}
		o.graph(v)
	case *graph.Program:
		o.err(v.Run())
	case *train.Core:
		if v != nil {
			_, err := v.Step()
			o.err(err)
		}
	case *optim.Optimizer:
		if v != nil {
			_, err := v.Update(get[*graph.Program](w), 0.5)
			o.err(err)
		}
	case hand.Matrix[float64]:
		o.err(v.Err)
	case hand.Matrix[complex128]:
		o.err(v.Err)
	case hand.Gradients[float64]:
		o.err(v.Err())
	case hand.Values[float64]:
		o.err(hand.Parameters[float64](v).Check())
	case hand.Parameters[float64]:
		o.err(v.Check())
	case hand.Partial[float64]:
		o.err(cmp.Or(v.Max.Err, v.Total.Err, v.Out.Err))
	case hand.SOAPState[float64]:
		o.err(cmp.Or(v.M.Err, v.V.Err, v.L.Err, v.R.Err, v.QL.Err, v.QR.Err))
	case hand.Cache[float64]:
		o.err(cmp.Or(v.K.Err, v.V.Err))
	case hand.Layer[float64]:
		o.use(w, reflect.ValueOf(v.Forward(get[hand.Matrix[float64]](w))), false)
	case nn.Affine:
		if v != nil {
			o.use(w, reflect.ValueOf(v(get[graph.Scope](w).Sub("affine"), 4, []int{4}, true, graph.Const(1))), false)
		}
	case nn.Layer:
		if r.Kind() != reflect.Pointer || !r.IsNil() {
			o.use(w, reflect.ValueOf(v.Forward(get[graph.Expr](w))), false)
		}
	case iter.Seq2[int, error]:
		some(o, v)
	case iter.Seq2[string, error]:
		some(o, v)
	case iter.Seq2[decode.Token, error]:
		some(o, v)
	case iter.Seq2[train.Progress, error]:
		some(o, v)
	case bool:
		if last && !v {
			o.err(fmt.Errorf("false"))
		}
	case nil:
		if r.Type() == reflect.TypeFor[error]() {
			o.err(nil)
		}
	}
}

// some reads the first values of a sequence, to obtain an error among them.
func some[T any](o *outcome, values iter.Seq2[T, error]) {
	n := 0
	for _, err := range values {
		if o.err(err); n > 9 || err != nil {
			break
		}
		n++
	}
}
