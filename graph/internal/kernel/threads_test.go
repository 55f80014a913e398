package kernel

import (
	"sync/atomic"
	"testing"
	"time"
)

// The number of threads of a loop follows from its work and the time of a ping-pong.
func TestThreadsFor(t *testing.T) {
	for _, tc := range []struct {
		work, pingPong float64
		most, want     int
	}{
		{2_000, 500, 2, 1},
		{11_900, 500, 2, 1}, // two threads: 5,950 + 6,000
		{12_100, 500, 2, 2}, // 6,050 + 6,000
		{12_100, 500, 1, 1},
		{12_100, 5_000, 2, 1},
		{2_100, 90, 2, 1},
		{2_200, 90, 2, 2},
		{10_000, 500, 64, 4}, // 2,500 + 7,000
		{100_000, 500, 64, 14},
		{100_000, 500, 4, 4},
		{1e9, 500, 64, 64},
		{1e9, 500, 4096, 1414},
		{0, 500, 64, 1},
	} {
		if got := threadsFor(tc.work, tc.pingPong, tc.most); got != tc.want {
			t.Errorf("%.0f ns, ping-pong %.0f ns, at most %d: got %d threads, want %d", tc.work, tc.pingPong, tc.most, got, tc.want)
		}
	}
	for work := 1.0; work < 1e8; work *= 1.7 {
		for _, most := range []int{1, 2, 3, 8, 64} {
			least, want := work, 1
			for n := 2; n <= most; n++ {
				if d := shared(work, 300, n); d < least {
					least, want = d, n
				}
			}
			if got := threadsFor(work, 300, most); got != want {
				t.Errorf("%.0f ns, at most %d: got %d threads, %d take the least time", work, most, got, want)
			}
		}
	}
}

// A given number of threads shares every loop above SerialCost; otherwise the ping-pong decides.
func TestWorth(t *testing.T) {
	chosen := func(pingPong float64) *Pool {
		return &Pool{threads: 2, chosen: true, pingPong: func() float64 { return pingPong }}
	}
	near, far := chosen(92), chosen(506)
	for _, tc := range []struct {
		name             string
		operations       int
		near, far, given int
	}{
		{"none", 0, 1, 1, 1},
		{"below SerialCost", SerialCost - 1, 1, 1, 1},
		{"a token through 128 × 384", 2 * 128 * 384 * 9, 2, 1, 8},
		{"a token through 128 × 512", 2 * 128 * 512 * 9, 2, 1, 8},
		{"32 tokens through 128 × 384", 2 * 128 * 384 * 40, 2, 2, 8},
		{"a token through 768 × 768", 2 * 768 * 768 * 9, 2, 2, 8},
	} {
		if tc.operations >= SerialCost && speed[float32]() < 300 { // plain Go is slow enough to share all of them
			tc.far = 2
		}
		for _, pool := range []struct {
			p    *Pool
			want int
		}{{near, tc.near}, {far, tc.far}, {NewPool(8), tc.given}, {NewPool(1), 1}} {
			if got := Worth[float32](pool.p, tc.operations); got != pool.want {
				t.Errorf("%s, chosen %t: got %d threads, want %d", tc.name, pool.p.chosen, got, pool.want)
			}
		}
	}
	if got := parts[float32](NewPool(8), 1); got != 8 {
		t.Errorf("a small reduction: got %d threads, want the 8 that are given", got)
	}
	if got := parts[float32](near, 1); got != 1 {
		t.Errorf("a small reduction: got %d threads, want 1", got)
	}
}

// A loop on some of the threads runs on no others.
func TestRunOn(t *testing.T) {
	p := NewPool(8)
	for range 20 {
		for _, threads := range []int{1, 2, 5, 8, 20} {
			var ran atomic.Int64
			p.RunOn(threads, 64, 1, eachTask(func(thread, _ int) {
				if ran.Add(1); thread >= threads {
					t.Errorf("thread %d runs a task of a loop on %d threads", thread, threads)
				}
			}))
			if ran.Load() != 64 {
				t.Fatalf("%d threads: %d of 64 tasks ran", threads, ran.Load())
			}
		}
	}
}

// The ping-pong is measured once, and its limit is below a millisecond.
func TestPingPong(t *testing.T) {
	first := PingPong()
	if !(first >= 1) || first != PingPong() || pingPongLimit >= time.Millisecond {
		t.Errorf("got %v, then %v, within %v; want one positive number within a millisecond", first, PingPong(), pingPongLimit)
	}
	t.Logf("%.0f ns", first)
}
