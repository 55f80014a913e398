package text

import (
	"crypto/sha256"
	"encoding/hex"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allocated returns the number of bytes allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func TestCorpusSplit(t *testing.T) {
	s := strings.Repeat("abcdefg", 3) + "hi" // 23 tokens: int(20.7) to train on
	c, err := NewCorpus(s, mustCharacters(t, s), 2)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(s))
	want := Dataset{
		Training:   packed[uint16]{0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5},
		Validation: packed[uint16]{6, 7, 8},
		Sum:        hex.EncodeToString(sum[:]),
	}
	if diff := cmp.Diff(Corpus(want), c); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCorpusErrors(t *testing.T) {
	tok := mustCharacters(t, "ab")
	s := strings.Repeat("ab", 50)
	_, err := NewCorpus(s, tok, 0)
	wantError(t, err, "block_size", "got 0")
	_, err = NewCorpus("", tok, 3)
	wantError(t, err, "empty")
	_, err = NewCorpus(s+"c", tok, 3)
	wantError(t, err, "'c'", "position 100", "2 characters")
	_, err = NewCorpus(s, tok, 10)
	wantError(t, err, "validation split", "got 10 tokens", "at least 11")
	if _, err = NewCorpus(s, tok, 9); err != nil {
		t.Errorf("10 tokens hold a block of 9 and a target: %v", err)
	}
	_, err = NewCorpus(s, tok, 1<<30)
	wantError(t, err, "training split", "got 90 tokens")
}

// checkSample draws many batches and compares each with s.
func checkSample(t *testing.T, s Tokens, B, T int) {
	t.Helper()
	rng, twin := rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(1, 2))
	x, y := make([]int, B*T), make([]int, B*T)
	for range 20 {
		if err := Sample(s, rng, x, y, T); err != nil {
			t.Fatal(err)
		}
		for b := range B {
			start := twin.IntN(len(s) - T)
			if diff := cmp.Diff([]int(s[start:start+T]), x[b*T:(b+1)*T]); diff != "" {
				t.Fatalf("row %d of x, start %d (-want +got):\n%s", b, start, diff)
			}
			if diff := cmp.Diff([]int(s[start+1:start+T+1]), y[b*T:(b+1)*T]); diff != "" {
				t.Fatalf("row %d of y, start %d (-want +got):\n%s", b, start, diff)
			}
		}
	}
}

// checkBlocks goes through s and compares every row with its place in s.
func checkBlocks(t *testing.T, s Tokens, B, T int) {
	t.Helper()
	x, y := make([]int, B*T), make([]int, B*T)
	seen := 0
	for rows, err := range Blocks(s, x, y, T) {
		if err != nil {
			t.Fatal(err)
		}
		if left := (len(s)-1)/T - seen; rows != min(B, left) {
			t.Fatalf("after %d blocks: got %d rows, want %d", seen, rows, min(B, left))
		}
		for b := range B {
			wantX, wantY := make([]int, T), make([]int, T)
			for i := range wantY {
				wantY[i] = Ignore
			}
			if b < rows {
				copy(wantX, s[(seen+b)*T:])
				copy(wantY, s[(seen+b)*T+1:])
			}
			if diff := cmp.Diff([][]int{wantX, wantY}, [][]int{x[b*T : (b+1)*T], y[b*T : (b+1)*T]}); diff != "" {
				t.Fatalf("block %d, x and y (-want +got):\n%s", seen+b, diff)
			}
		}
		seen += rows
	}
	if want := (len(s) - 1) / T; seen != want {
		t.Fatalf("got %d blocks, want %d", seen, want)
	}
}

// ramp returns a split of n different tokens.
func ramp(n int) Tokens {
	s := make(Tokens, n)
	for i := range s {
		s[i] = 100 + i
	}
	return s
}

func TestSample(t *testing.T) {
	checkSample(t, ramp(23), 3, 5)
	checkSample(t, ramp(6), 3, 5) // the only start is 0

	starts := make(map[int]bool)
	rng := rand.New(rand.NewPCG(3, 4))
	var x, y [4]int
	for range 500 {
		if err := Sample(ramp(9), rng, x[:], y[:], 4); err != nil {
			t.Fatal(err)
		}
		starts[x[0]-100] = true
	}
	if diff := cmp.Diff(map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true}, starts); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestSampleAllocatesNothing(t *testing.T) {
	s, rng := Split(ramp(50)), rand.New(rand.NewPCG(1, 2))
	x, y := make([]int, 12), make([]int, 12)
	if got := testing.AllocsPerRun(20, func() { _ = Sample(s, rng, x, y, 4) }); got != 0 {
		t.Errorf("got %v allocations a batch, want 0", got)
	}
}

func TestBlocks(t *testing.T) {
	for n := 6; n < 40; n++ {
		checkBlocks(t, ramp(n), 3, 5)
	}
	x, y := make([]int, 10), make([]int, 10)
	blocks := Blocks(ramp(40), x, y, 5)
	for range 2 { // the iterator restarts, and stops on a break
		for range blocks {
			break
		}
		if x[0] != 100 || x[9] != 109 {
			t.Errorf("first batch: got %v", x)
		}
	}
}

func TestBatchErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		split, x, y, blockSize int
		reason                 string
	}{
		{20, 6, 6, 0, "block_size: got 0"},
		{20, 7, 7, 3, "got 7 and 7 tokens, want the same multiple of block_size 3"},
		{20, 6, 9, 3, "got 6 and 9 tokens"},
		{20, 0, 0, 3, "got 0 and 0 tokens"},
		{3, 6, 6, 3, "got 3 tokens, want at least 4"},
		{0, 6, 6, 3, "got 0 tokens, want at least 4"},
	} {
		x, y := make([]int, c.x), make([]int, c.y)
		wantError(t, Sample(ramp(c.split), rng, x, y, c.blockSize), c.reason)
		for rows, err := range Blocks(ramp(c.split), x, y, c.blockSize) {
			wantError(t, err, c.reason)
			if rows != 0 {
				t.Errorf("got %d rows with an error", rows)
			}
		}
	}
}

func BenchmarkSample(b *testing.B) {
	s, rng := Split(ramp(1_000_000)), rand.New(rand.NewPCG(1, 2))
	x, y := make([]int, 12*64), make([]int, 12*64)
	for b.Loop() {
		if err := Sample(s, rng, x, y, 64); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(x))/b.Elapsed().Seconds(), "tok/s")
}
