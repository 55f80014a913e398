package bpe

import (
	"container/heap"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Train learns an encoding of size tokens: the 256 bytes, one token for each merge, and finally the special tokens.
// Each merge joins the pair that is the most frequent in the pieces of the text, and of equally frequent pairs the one
// with the lower ids. There are fewer tokens if each piece has become one. The result depends only on text, size and
// special tokens, not on the number of processors.
func Train(text string, size int, special ...string) (*Tokenizer, error) {
	if least := 256 + len(special); size < least || text == "" {
		return nil, errors.Errorf("tokenizer: bpe: got a text of %d bytes and size %d, "+
			"want 1 and %d or more, which is the bytes and the special tokens", len(text), size, least)
	}
	used := make(map[string]bool, len(special))
	list := make([]added, 0, len(special))
	for _, content := range special {
		if content == "" || used[content] {
			return nil, errors.Errorf("tokenizer: bpe: special token %.64q: is empty or a token already", content)
		}
		used[content] = true
		list = append(list, added{content: content, special: true})
	}
	if _, err := newFinder(slices.Clone(list)); err != nil {
		return nil, errors.WithMessage(err, "tokenizer: bpe") // before learning
	}
	symbols := slices.Sorted(slices.Values(alphabet[:]))
	r := recipe{layout: byteLevelLayout(splitter(splitGPT2)), added: list, apart: map[string]int32{}}
	var of [256]int32
	for id, c := range symbols {
		r.tokens = append(r.tokens, string(c))
		of[inverse[c]] = int32(id)
	}
	l := newLearner(count(text, splitGPT2), byteLevel{&of})
	for len(r.tokens) < size-len(special) {
		p, ok := l.most()
		if !ok {
			break
		}
		m := [2]string{r.tokens[p>>32], r.tokens[uint32(p)]}
		l.join(p, int32(len(r.tokens)))
		r.merges, r.tokens = append(r.merges, m), append(r.tokens, m[0]+m[1])
	}
	for _, token := range r.tokens {
		if used[token] {
			return nil, errors.Errorf("tokenizer: bpe: special token %.64q: is empty or a token already", token)
		}
	}
	for i, content := range special {
		list[i].id, r.apart[content] = int32(len(r.tokens)), int32(len(r.tokens))
		r.tokens = append(r.tokens, content)
	}
	t, err := r.build()
	return t, errors.WithMessage(err, "tokenizer: bpe")
}

// count returns the number of occurrences of each piece, counting chunks of the text in parallel.
func count(text string, by splitter) map[string]int {
	total := map[string]int{}
	var lock sync.Mutex
	var wait sync.WaitGroup
	for chunk := range chunks(text, runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			times := map[string]int{}
			by.cut(chunk, time.Time{}, func(piece string) { times[piece]++ }) // a splitter has no error
			lock.Lock()
			defer lock.Unlock()
			for piece, n := range times {
				total[piece] += n
			}
		})
	}
	wait.Wait()
	return total
}

// chunks cuts a text into about n parts after lines that end with a letter: no piece continues across such a line end.
func chunks(text string, n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		step := len(text)/n + 1
		for len(text) > 0 {
			end := min(step, len(text))
			for end < len(text) && (text[end] != '\n' || text[end-1] >= utf8.RuneSelf || ascii[text[end-1]] != letter) {
				end++
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// learner counts pairs while they are joined.
type learner struct {
	words [][]int32 // the distinct pieces, as tokens
	times []int     // how often each occurs
	count map[pair]int
	where map[pair][]int32 // words in which the pair occurs or has occurred
	best  candidates       // for every pair that occurs, a candidate with at least its count
}

func newLearner(pieces map[string]int, symbols byteLevel) *learner {
	l := &learner{count: map[pair]int{}, where: map[pair][]int32{}}
	for _, piece := range slices.Sorted(maps.Keys(pieces)) {
		word := symbols.symbols(nil, strings.Clone(piece))
		l.words, l.times = append(l.words, word), append(l.times, pieces[piece])
		l.note(int32(len(l.words)-1), 1, l.count, everyToken)
	}
	for p, n := range l.count {
		l.best = append(l.best, candidate{n, p})
	}
	heap.Init(&l.best)
	return l
}

// everyToken stands for any token in note.
const everyToken = -1

// note adds sign times the pairs of a word to counts. It lists the word in where for pairs with the token joined,
// which are new in the word.
func (l *learner) note(word int32, sign int, counts map[pair]int, joined int32) {
	ids := l.words[word]
	for i := range len(ids) - 1 {
		p := pairOf(ids[i], ids[i+1])
		counts[p] += sign * l.times[word]
		if joined != everyToken && ids[i] != joined && ids[i+1] != joined {
			continue
		}
		if in := l.where[p]; len(in) == 0 || in[len(in)-1] != word {
			l.where[p] = append(in, word)
		}
	}
}

// most returns the pair that occurs most often.
func (l *learner) most() (pair, bool) {
	for len(l.best) > 0 {
		c := heap.Pop(&l.best).(candidate)
		now := l.count[c.pair]
		if now == c.count {
			return c.pair, true
		}
		if now > 0 {
			heap.Push(&l.best, candidate{now, c.pair})
		}
	}
	return 0, false
}

// join replaces a pair by one token wherever it occurs.
func (l *learner) join(p pair, id int32) {
	left, right := int32(p>>32), int32(uint32(p))
	changes := map[pair]int{}
	in := l.where[p]
	delete(l.where, p)
	for _, word := range in {
		l.note(word, -1, changes, id)
		ids := l.words[word]
		kept := ids[:0]
		for i := 0; i < len(ids); i++ {
			if i+1 < len(ids) && ids[i] == left && ids[i+1] == right {
				kept = append(kept, id)
				i++
			} else {
				kept = append(kept, ids[i])
			}
		}
		l.words[word] = kept
		l.note(word, 1, changes, id)
	}
	for q, change := range changes {
		if l.count[q] += change; change > 0 {
			heap.Push(&l.best, candidate{l.count[q], q})
		}
	}
}

// candidate is a pair with the number of its occurrences at some time.
type candidate struct {
	count int
	pair  pair
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	return c[i].count > c[j].count || c[i].count == c[j].count && c[i].pair < c[j].pair
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}
