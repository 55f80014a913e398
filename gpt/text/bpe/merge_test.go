package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// oneByOne is apply by definition: it joins the pair of the lowest rank, and of equal ranks the leftmost, until no
// pair is left.
func oneByOne(m merges, ids []int32) []int32 {
	ids = slices.Clone(ids)
	for {
		at, best := -1, unmerged
		for i := range max(0, len(ids)-1) {
			if found := m.of(ids[i], ids[i+1]); found.rank < best.rank {
				at, best = i, found
			}
		}
		if at < 0 {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, best.id)
	}
}

// Any table is applied in its order, even if a pair that appears late has a low rank, for pieces of every length
// around the one from which pairs wait in queues.
func TestApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		tokens, table := []string{"a", "b", "c"}, merges{}
		for _, rank := range rng.Perm(1 + rng.IntN(60)) { // a token of several pairs, and any order of the ranks
			left, right := rng.IntN(len(tokens)), rng.IntN(len(tokens))
			id := slices.Index(tokens, tokens[left]+tokens[right])
			if id < 0 {
				id, tokens = len(tokens), append(tokens, tokens[left]+tokens[right])
			}
			table[pairOf(int32(left), int32(right))] = merge{int32(rank), int32(id)}
		}
		ids := make([]int32, rng.IntN(3*short))
		for i := range ids {
			ids[i] = rng.Int32N(3)
		}
		want := oneByOne(table, ids)
		if got := table.applyLong(slices.Clone(ids)); !slices.Equal(got, want) {
			t.Fatalf("%v in queues: got %v, want %v", ids, got, want)
		}
		if got := table.apply(slices.Clone(ids)); !slices.Equal(got, want) {
			t.Fatalf("%v: got %v, want %v", ids, got, want)
		}
	}
}

// Every merge of a piece of one repeated letter, however long, is queued once, so the number of queued pairs is
// linear.
func TestApplyIsLinear(t *testing.T) {
	table := merges{pairOf(0, 0): {0, 1}, pairOf(1, 1): {1, 2}, pairOf(2, 2): {2, 3}}
	for _, n := range []int{1 << 10, 1 << 16} {
		p := newPiece(table, make([]int32, n))
		p.joinAll()
		if p.waited < n-1 || p.waited > 3*n {
			t.Errorf("%d tokens: %d waited, want %d to %d", n, p.waited, n-1, 3*n)
		}
	}
}

// Megabytes without a place to cut are encoded in linear time: in quadratic time this test would not end.
func TestOneLetter(t *testing.T) {
	megabytes := 5
	if testing.Short() {
		megabytes = 1
	}
	tok, err := Train(strings.Repeat("a", 64)+strings.Repeat(" ", 64)+strings.Repeat("!", 64), 300)
	if err != nil {
		t.Fatal(err)
	}
	for letter, n := range map[string]int{"a": megabytes << 20, " ": 1 << 18, "!": 1 << 18, "\n": 1 << 18} {
		text := strings.Repeat(letter, n)
		ids, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := tok.Decode(ids); err != nil || back != text {
			t.Errorf("%q: %d bytes come back as %d, %v", letter, n, len(back), err)
		}
		if letter != "\n" && len(ids) > n/32+32 {
			t.Errorf("%q: %d bytes are %d tokens, want about %d", letter, n, len(ids), n/64)
		}
	}
}
