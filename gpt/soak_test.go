package gpt

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

// live returns the heap after collection, and the goroutines.
func live() (heap uint64, goroutines int) {
	time.Sleep(5 * time.Millisecond) // a kernel's workers end after a short time without work
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, runtime.NumGoroutine()
}

// residentSet returns the memory that the process has from the system, after returning unused memory; 0 if the system
// does not report it.
func residentSet(t *testing.T) (bytes int) {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// aloneVariable is set in the process that TestSoak measures, because memory of other tests would hide a leak.
const aloneVariable = "GPT_TEST_ALONE"

// The memory of a long run does not grow.
func TestSoak(t *testing.T) {
	n := 1000
	switch {
	case testing.Short():
		n = 200
	case os.Getenv("NIGHTLY") != "":
		n = 8000
	}
	if os.Getenv(aloneVariable) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSoak$", "-test.v", fmt.Sprintf("-test.short=%v", testing.Short()))
		cmd.Env = append(os.Environ(), aloneVariable+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	c := eventful()
	c.Threads = 2
	trainer := newTrainer(t, c)
	work := func(n int) {
		for i := range n {
			steps(t, trainer, 1)
			if i%50 != 0 {
				continue
			}
			if _, err := trainer.Evaluate(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, f := range files(t, trainer) {
				if err := f.Write(io.Discard); err != nil {
					t.Fatal(err)
				}
			}
			feed(t, newDecoderOf(t, trainer.Model), 1, 2, 3)
		}
	}
	work(max(300, n/4)) // until the tables of the runtime have most of their size
	heap, goroutines := live()
	resident := residentSet(t)
	work(n)
	heap2, goroutines2 := live()
	if now := residentSet(t); now > resident*105/100+1<<20 {
		t.Errorf("the process grew from %d to %d bytes in %d steps", resident, now, n)
	}
	runtime.KeepAlive(trainer)
	growth := float64(heap2) - float64(heap)
	t.Logf("heap %.2f MB, %+.0f bytes after %d steps more", float64(heap)/1e6, growth, n)
	if growth > max(0.02*float64(heap), 64e3) { // a step that kept one float would show
		t.Errorf("the heap grew from %d to %d bytes in %d steps", heap, heap2, n)
	}
	for t.Logf("%d goroutines, %d before", goroutines2, goroutines); runtime.NumGoroutine() > goroutines; {
		time.Sleep(time.Millisecond) // until they have left, and for ever if they do not
	}
}

// shakespeareTrainer returns a trainer with the sizes of the recipe, on a text of random letters, as many different
// ones as in Shakespeare.
func shakespeareTrainer(t testing.TB) *Trainer {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	var s strings.Builder
	for range 20_000 {
		s.WriteByte(byte(' ' + rng.IntN(65)))
	}
	c := Shakespeare()
	data, tok := corpus(t, s.String(), c.BlockSize)
	if tok.Size() != 65 {
		t.Fatalf("%d letters, want 65", tok.Size())
	}
	trainer, err := NewTrainer(c, data, tok)
	if err != nil {
		t.Fatal(err)
	}
	return trainer
}

// A step at the sizes of the Shakespeare recipe leaves less than 1 MB to the garbage collector.
func TestGarbage(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short runs the race detector, under which a sync.Pool forgets at random")
	}
	trainer := shakespeareTrainer(t)
	steps(t, trainer, 1)
	const n = 2
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	steps(t, trainer, n)
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / n
	t.Logf("%d bytes in %d allocations a step", bytes, (after.Mallocs-before.Mallocs)/n)
	if bytes > 1e6 {
		t.Errorf("a step allocates %d bytes, want at most 1 MB", bytes)
	}
}

func BenchmarkStep(b *testing.B) {
	trainer := shakespeareTrainer(b)
	steps(b, trainer, 1)
	tokens := 0
	for b.Loop() {
		tokens += steps(b, trainer, 1)[0].Tokens
	}
	b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tok/s")
}

// BenchmarkDecode decodes one token at a time: into an empty window until it is full, and beyond, where half a window
// must be fed again after every half.
func BenchmarkDecode(b *testing.B) {
	m := shakespeareTrainer(b).Model
	d := newDecoderOf(b, m)
	for name, reset := range map[string]bool{"filling": true, "sliding": false} {
		b.Run(name, func(b *testing.B) {
			tokens := 0
			for b.Loop() {
				if reset && tokens%m.Config.BlockSize == 0 {
					d.Reset()
				}
				if _, err := d.Feed([]int{tokens % 65}); err != nil {
					b.Fatal(err)
				}
				tokens++
			}
			b.ReportMetric(float64(tokens)/b.Elapsed().Seconds(), "tok/s")
		})
	}
}
