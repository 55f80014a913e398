package bpe

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// learnOneByOne is Train by definition: it counts every pair of every piece again for each merge.
func learnOneByOne(text string, merged int) (list [][2]string) {
	words := map[string][]string{}
	times := map[string]int{}
	pieces(text, []cutter{splitter(splitGPT2)}, time.Time{}, func(piece string) {
		words[piece] = strings.Split(visible(piece), "")
		times[piece]++
	})
	order := slices.Sorted(slices.Values(alphabet[:]))
	ids := map[string]int{}
	for id, c := range order {
		ids[string(c)] = id
	}
	for range merged {
		count := map[[2]string]int{}
		for piece, word := range words {
			for i := range len(word) - 1 {
				count[[2]string{word[i], word[i+1]}] += times[piece]
			}
		}
		before := func(a, b [2]string) int {
			if count[a] != count[b] {
				return count[b] - count[a]
			}
			return slices.Compare([]int{ids[a[0]], ids[a[1]]}, []int{ids[b[0]], ids[b[1]]})
		}
		if len(count) == 0 {
			return list
		}
		best := slices.MinFunc(slices.Collect(maps.Keys(count)), before)
		for piece, word := range words {
			for i := 0; i+1 < len(word); i++ {
				if word[i] == best[0] && word[i+1] == best[1] {
					word = slices.Replace(word, i, i+2, best[0]+best[1])
				}
			}
			words[piece] = word
		}
		if _, there := ids[best[0]+best[1]]; !there {
			ids[best[0]+best[1]] = len(ids)
		}
		list = append(list, best)
	}
	return list
}

// Train learns the merges that counting from scratch finds, in the same order, with any number of processors.
func TestTrain(t *testing.T) {
	text := strings.Repeat(rhyme, 2) + "aaaaaaa aaaa banana bananas ananas\nThe end, the ends; the bus.\n"
	want := learnOneByOne(text, 150)
	for _, procs := range []int{1, 3, 8} {
		before := runtime.GOMAXPROCS(procs)
		tok, err := Train(text, 256+150)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		got := make([][2]string, len(tok.merges))
		for p, m := range tok.merges {
			got[m.rank] = [2]string{visible(tok.tokens[p>>32]), visible(tok.tokens[uint32(p)])}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d processors: got %v, want %v", procs, got, want)
		}
	}
}

// Training ends when each piece has become a token.
func TestTrainEnds(t *testing.T) {
	tok, err := Train("abab cd", 1000)
	if err != nil || tok.Size() != 256+2+2 { // ab, abab; c with d, and with the space
		t.Errorf("got %d tokens, %v, want 260", tok.Size(), err)
	}
	if ids, _ := tok.Encode("abab cd"); len(ids) != 2 {
		t.Errorf("got %v, want two tokens", ids)
	}
	if tok, err := Train("ab", 257, "<s>"); err != nil || tok.Size() != 257 || len(tok.merges) != 0 {
		t.Errorf("the smallest size: got %d tokens, %v, want 257 without merges", tok.Size(), err)
	}
}

// The joined chunks are the text, and they are cut only where a piece begins whatever precedes it.
func TestChunks(t *testing.T) {
	text := strings.Repeat(rhyme, 5)
	want := piecesOf(text, splitter(splitGPT2))
	for n := 1; n < 12; n++ {
		var all, got []string
		for chunk := range chunks(text, n) {
			all, got = append(all, chunk), append(got, piecesOf(chunk, splitter(splitGPT2))...)
		}
		if strings.Join(all, "") != text || !slices.Equal(got, want) {
			t.Errorf("%d chunks: not the pieces of the text", n)
		}
		if len(all) > n || n > 1 && len(all) == 1 {
			t.Errorf("got %d chunks, want 2 to %d", len(all), n)
		}
	}
	if got, want := slices.Collect(chunks("ab\n", 3)), []string{"ab", "\n"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := slices.Collect(chunks("\nab", 9)), []string{"\nab"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The merges are the same with any number of processors, even if the border of a chunk falls into a run of blanks: the
// text is shifted so that each border meets every place of a run.
func TestChunksKeepBlanks(t *testing.T) {
	const lines = " ab\n \n\n  \t cd\n\n\n  \r\n e, \n\n 7\n\n"
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for shift := range len(lines) {
		text := strings.Repeat("x", shift) + strings.Repeat(lines, 9)
		var want merges
		for _, procs := range []int{1, 2, 3, 8} {
			runtime.GOMAXPROCS(procs)
			tok, err := Train(text, 275)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = tok.merges
			}
			if !maps.Equal(tok.merges, want) {
				t.Fatalf("shift %d: %d processors learn other merges than one", shift, procs)
			}
		}
		for n := 2; n < 9; n++ {
			if got, want := countIn(chunks(text, n)), countIn(chunks(text, 1)); !maps.Equal(got, want) {
				t.Fatalf("shift %d, %d chunks: got pieces %v, want %v", shift, n, got, want)
			}
		}
	}
}

// countIn counts the pieces of chunks.
func countIn(chunks func(func(string) bool)) map[string]int {
	count := map[string]int{}
	for chunk := range chunks {
		for _, piece := range piecesOf(chunk, splitter(splitGPT2)) {
			count[piece]++
		}
	}
	return count
}

func TestTrainErrors(t *testing.T) {
	for want, call := range map[string]func() (*Tokenizer, error){
		"got a text of 0 bytes and size 300":   func() (*Tokenizer, error) { return Train("", 300) },
		"got a text of 1 bytes and size 255":   func() (*Tokenizer, error) { return Train("a", 255) },
		"and size 256, want 1 and 257 or more": func() (*Tokenizer, error) { return Train("a", 256, "<s>") },
		`special token "<s>": is empty or a token already`: func() (*Tokenizer, error) {
			return Train("ab", 300, "<s>", "<s>")
		},
		`special token "": is empty or a token already`:   func() (*Tokenizer, error) { return Train("ab", 300, "") },
		`special token "ab": is empty or a token already`: func() (*Tokenizer, error) { return Train("ab", 300, "ab") },
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
