package main

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// parallel calls f(0) … f(n−1) on GOMAXPROCS threads. It prints the progress, the note and the remaining time at most
// once a second.
func parallel(w io.Writer, what string, n int, f func(int), note func() string) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	var next atomic.Int64
	start, last, done := time.Now(), time.Time{}, 0
	step := func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if now := time.Now(); now.Sub(last) >= time.Second || done == n {
			last = now
			left := now.Sub(start) * time.Duration(n-done) / time.Duration(done)
			fmt.Fprintf(w, "\r%s: %d of %d%s, %s left   ", what, done, n, note(), left.Round(time.Second))
		}
	}
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
				step()
			}
		})
	}
	wait.Wait()
	fmt.Fprintf(w, "\n%s: %s\n", what, time.Since(start).Round(time.Second/10))
}

// serial is a Writer that several goroutines may use.
type serial struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}
