package verify

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pkg/errors"
)

// For any number of threads, everything is done once, every derivative is reported, and the Report is the same.
func TestThreads(t *testing.T) {
	s, err := newModel(t, small()).subject()
	if err != nil {
		t.Fatal(err)
	}
	var want string
	for _, threads := range []int{1, 2, 5} {
		var told []int
		r, err := check(work{t.Context(), threads, func(done, total int) {
			if told = append(told, done); total != 4*38 {
				t.Errorf("got %d derivatives", total)
			}
		}}, s, sampling{few: 2})
		if err != nil {
			t.Fatal(err)
		}
		for i := range told {
			if told[i] != i+1 {
				t.Fatalf("%d threads: told %v", threads, told)
			}
		}
		got, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(got)
		}
		if string(got) != want || len(told) == 0 {
			t.Errorf("%d threads, %d derivatives: got\n%s\nwant\n%s", threads, len(told), got, want)
		}
	}
}

// A check ends with its context, before it begins or at the next derivative. The error is the context's cause.
func TestCheckEnds(t *testing.T) {
	m := newModel(t, small())
	reason := errors.New("enough")
	for _, after := range []int{0, 1, 7} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if after == 0 {
			cancel(reason)
		}
		most := 0
		r, err := CheckContext(ctx, m, func(done, _ int) {
			if most = done; done == after {
				cancel(reason)
			}
		})
		if r != nil || err != reason || most > after+runtime.GOMAXPROCS(0) {
			t.Errorf("ended after %d: got %v and %v after %d", after, r, err, most)
		}
	}
}

// Each item is done once until one fails. A panic becomes an error.
func TestEach(t *testing.T) {
	for _, threads := range []int{1, 3} {
		w := unwatched()
		w.threads = threads
		var times [40]atomic.Int32
		if err := w.each(len(times), func(i int) error { times[i].Add(1); return nil }); err != nil {
			t.Error(err)
		}
		for i := range times {
			if n := times[i].Load(); n != 1 {
				t.Errorf("%d threads: %d was done %d times", threads, i, n)
			}
		}
		var done atomic.Int32
		err := w.each(40, func(i int) error {
			if done.Add(1); i == 5 {
				return errors.New("the sixth")
			}
			return nil
		})
		if err == nil || err.Error() != "the sixth" || done.Load() < 6 || int(done.Load()) > 40 {
			t.Errorf("%d threads: got %v after %d", threads, err, done.Load())
		}
		if err := w.each(2, func(int) error { panic("at the disco") }); err == nil ||
			!strings.Contains(err.Error(), "at the disco") {
			t.Errorf("%d threads: got %v", threads, err)
		}
		if err := w.each(0, nil); err != nil {
			t.Error(err)
		}
	}
}

// Every mask is drawn once.
func TestRemembered(t *testing.T) {
	draws := map[string]int{}
	mask := remembered(func(path string) hand.Matrix[float64] {
		draws[path]++
		return hand.NewMatrix(1, 1, float64(len(path)))
	})
	for range 3 {
		if a, b := mask("drop"), mask("h.0.attn"); a.Data[0] != 4 || b.Data[0] != 8 {
			t.Errorf("got %v and %v", a, b)
		}
	}
	if draws["drop"] != 1 || draws["h.0.attn"] != 1 {
		t.Errorf("got %v, want each once", draws)
	}
}
