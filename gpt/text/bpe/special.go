package bpe

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// The limits of special tokens. Published models have at most about 70,000 of them, with 30 bytes each.
const (
	maxSpecials     = 1 << 18
	maxSpecial      = 1 << 10 // bytes of one
	maxSpecialBytes = 8 << 20 // bytes of all together
)

// finder finds special tokens in a text: the leftmost and, of several that begin there, the longest, as Hugging Face's
// libraries find added tokens. The zero finder finds nothing.
type finder struct {
	contents []string // ascending
	parent   []int32  // index of the longest other token that this one begins with, or −1
	from     []int32  // contents[from[b]:from[b+1]] begin with byte b
	prefix   string   // every token begins with it
}

// newFinder returns a finder of the special tokens. An error names the token that is empty, too long or not UTF-8, or
// the limit on all of them.
func newFinder(special map[string]int32) (finder, error) {
	if len(special) > maxSpecials {
		return finder{}, errors.Errorf("special tokens: got %d, want at most %d", len(special), maxSpecials)
	}
	f := finder{
		contents: make([]string, 0, len(special)), parent: make([]int32, len(special)), from: make([]int32, 257),
	}
	bytes := 0
	for content, id := range special {
		switch {
		case content == "":
			return finder{}, errors.Errorf("special tokens: id %d: got no content", id)
		case len(content) > maxSpecial:
			return finder{}, errors.Errorf("special tokens: %.64q: got %d bytes, want at most %d",
				content, len(content), maxSpecial)
		case !utf8.ValidString(content):
			return finder{}, errors.Errorf("special tokens: %.64q: not valid UTF-8", content)
		}
		f.contents = append(f.contents, content)
		f.from[int(content[0])+1]++
		bytes += len(content)
	}
	if bytes > maxSpecialBytes {
		return finder{}, errors.Errorf("special tokens: got %d bytes in %d tokens, want at most %d",
			bytes, len(special), maxSpecialBytes)
	}
	slices.Sort(f.contents)
	for b := range 256 {
		f.from[b+1] += f.from[b]
	}
	var open []int32 // tokens that the current one begins with, the longest last
	for i, content := range f.contents {
		for len(open) > 0 && !strings.HasPrefix(content, f.contents[open[len(open)-1]]) {
			open = open[:len(open)-1]
		}
		f.parent[i] = -1
		if len(open) > 0 {
			f.parent[i] = open[len(open)-1]
		}
		open = append(open, int32(i))
	}
	if n := len(f.contents); n > 0 {
		f.prefix = f.contents[0][:shared(f.contents[0], f.contents[n-1])]
	}
	return f, nil
}

// next returns the start and the end of the first special token of a text, or len(text) for both if there is none.
func (f finder) next(text string) (at, end int) {
	for len(f.contents) > 0 && at < len(text) {
		skipped := strings.Index(text[at:], f.prefix)
		if skipped < 0 {
			break
		}
		at += skipped
		if n := f.longest(text[at:]); n > 0 {
			return at, at + n
		}
		at++
	}
	return len(text), len(text)
}

// longest returns the length of the longest special token that s, which is not empty, begins with, or 0 if there is
// none. Such a token is s's predecessor in the order of contents, or one that the predecessor begins with.
func (f finder) longest(s string) int {
	first, end := f.from[s[0]], f.from[int(s[0])+1]
	i := first - 1 + int32(sort.Search(int(end-first), func(i int) bool { return f.contents[first+int32(i)] > s }))
	if i < first {
		return 0
	}
	for most := shared(s, f.contents[i]); i >= 0; i = f.parent[i] {
		if n := len(f.contents[i]); n <= most {
			return n
		}
	}
	return 0
}

// shared returns the length of the longest common prefix of a and b.
func shared(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
