package main

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// peak returns the largest number of bytes of the heap beyond those before, while f runs.
func peak(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most, done := m.HeapAlloc, uint64(0), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	})
	f()
	close(done)
	group.Wait()
	return most - min(most, before)
}

// Large requests that come at once need no more memory than the budget, although each has thousands of messages, and
// are all answered or refused.
func TestMemoryOfRequests(t *testing.T) {
	if os.Getenv("NIGHTLY") == "" {
		t.Skip("NIGHTLY is not set: 40 seconds")
	}
	const requests, messages = 100, 28_000
	_, url := served(t)
	body := `{"messages":[` + strings.Repeat(
		`{"role":"user","content":""},`, messages,
	) + `{"role":"user","content":"Hi"}]}`
	var long, refused atomic.Int64
	most := peak(func() {
		var group sync.WaitGroup
		for range requests {
			group.Go(func() {
				switch status, got := ask(t, url+"/v1/chat/completions", body); {
				case status == 400 && strings.Contains(got, "context_length_exceeded"):
					long.Add(1)
				case status == 429:
					refused.Add(1)
				default:
					t.Errorf("got status %d and %.200s", status, got)
				}
			})
		}
		group.Wait()
	})
	const want = 2 * (bodiesBudget + workBudget) // the collector lets garbage grow to the size of what is in use
	if t.Logf("a peak of %d MiB", most>>20); most > want || most == 0 || int(long.Load()+refused.Load()) != requests ||
		long.Load() < 8 {
		t.Errorf("%d requests of %d bytes, of which %d are too long and %d refused: a peak of %d MiB, want at most %d",
			requests, len(body), long.Load(), refused.Load(), most>>20, want>>20)
	}
}

// gate is a tokenizer that counts the texts that are being encoded, and lets them wait until it opens.
type gate struct {
	text.Tokenizer
	inside atomic.Int64
	open   chan struct{}
}

func (g *gate) Encode(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	g.inside.Add(1)
	<-g.open
	return []int{1}, nil
}

// No more requests are encoded at once than the budget has room for, and a request finds its place before that: the one
// beyond the lanes and the queue is refused. A large body that does not come takes no room.
func TestBudgetOfRequests(t *testing.T) {
	s, url := served(t, "-lanes", "2", "-queue", "8")
	g := &gate{Tokenizer: s.tok, open: make(chan struct{})}
	s.tok = g
	const size = 1_000_000
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			body := fmt.Sprintf(`{"prompt":%q,"max_tokens":1}`, strings.Repeat("a", size))
			if status, got := ask(t, url+"/v1/completions", body); status != 200 {
				t.Errorf("got status %d and %s", status, got)
			}
		})
	}
	want := workBudget / (workOfByte * size)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && (g.inside.Load() < int64(want) ||
		len(s.admission.places) < 10); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	if got := g.inside.Load(); got != int64(want) {
		t.Errorf("%d bodies of %d bytes are encoded at once, want %d in %d bytes", got, size, want, workBudget)
	}
	if status, got := ask(t, url+"/v1/completions", `{"prompt":"Hi"}`); status != 429 {
		t.Errorf("beyond the lanes and the queue: got status %d and %s, want 429", status, got)
	}
	close(g.open)
	group.Wait()
	if !s.admission.bodies.TryAcquire(bodiesBudget) || !s.admission.work.TryAcquire(workBudget) ||
		len(s.admission.places) != 0 {
		t.Error("after the answers the budget is not free")
	}
	if status, got := ask(t, url+"/v1/completions", `{"prompt":"Hi"}`); status != http.StatusTooManyRequests {
		t.Errorf("without room for a body: got status %d and %s, want 429", status, got)
	}
}
