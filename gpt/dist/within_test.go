package dist

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// frozen is a rank of two whose peer stops answering after some exchanges.
type frozen struct{ left *int }

func (frozen) Size() int    { return 2 }
func (frozen) Rank() int    { return 0 }
func (frozen) Close() error { return nil }

func (f frozen) Exchange(_ int, _, receive []float32) error {
	if *f.left--; *f.left < 0 {
		time.Sleep(time.Hour)
	}
	if len(receive) > 7 {
		return errors.New("too many")
	}
	return nil
}

// If a rank does not answer in time, the call and all later ones return ErrTimeout at once. Before that, results and
// errors are as without a limit.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 5 // the last exchange of the third sum
		g, err := Over(frozen{&left}, Options{Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := g.Sum(make([]float32, 4)); err != nil { // two exchanges
				t.Error(err)
			}
			time.Sleep(time.Hour) // the time between calls is not limited
		}
		start := time.Now()
		err = g.Sum(make([]float32, 4))
		if took := time.Since(start); !errors.Is(err, ErrTimeout) || took != time.Minute {
			t.Errorf("got %v after %v", err, took)
		}
		contains(t, err, "sum: with rank 1: waited 1m0s: no answer in time")
		contains(t, g.Barrier(), "barrier: ", "no answer in time")
		if took := time.Since(start); took != time.Minute || g.Close() != nil {
			t.Errorf("over after %v", took)
		}
		more := 9 // the call that timed out still uses the other
		g, _ = Over(frozen{&more}, Options{Timeout: time.Minute})
		contains(t, g.Sum(make([]float32, 64)), "too many")
		if err := errors.Join(g.Barrier(), g.Close()); err != nil {
			t.Error(err)
		}
		contains(t, g.Barrier(), "closed")
		time.Sleep(2 * time.Hour) // until the call that timed out returns
	})
}
