package bpe

import (
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// The limits of added tokens. Published models have at most about 70,000 of them, with 30 bytes each.
const (
	maxSpecials     = 1 << 18
	maxSpecial      = 1 << 10 // bytes of one
	maxSpecialBytes = 8 << 20 // bytes of all together
)

// added is a token that is found in a text before the text is split.
type added struct {
	content     string
	id          int32
	special     bool // only EncodeSpecial finds it
	left, right bool // it takes in the white space on that side
}

// finder finds added tokens in a text: the leftmost and, of several that begin there, the longest, as Hugging Face's
// libraries do. The zero finder finds nothing.
type finder struct {
	tokens []added // their contents ascend
	parent []int32 // index of the longest other token that this one begins with, or −1
	from   []int32 // tokens[from[b]:from[b+1]] begin with byte b
	prefix string  // every token begins with it
	plain  int     // number of tokens that are not special
}

// newFinder returns a finder of the tokens, whose contents differ; it sorts them. An error names the token that is
// empty, too long or not UTF-8, or the limit on all of them.
func newFinder(tokens []added) (finder, error) {
	if len(tokens) > maxSpecials {
		return finder{}, errors.Errorf("special tokens: got %d, want at most %d", len(tokens), maxSpecials)
	}
	f := finder{tokens: tokens, parent: make([]int32, len(tokens)), from: make([]int32, 257)}
	bytes := 0
	for _, t := range tokens {
		switch {
		case t.content == "":
			return finder{}, errors.Errorf("special tokens: id %d: got no content", t.id)
		case len(t.content) > maxSpecial:
			return finder{}, errors.Errorf("special tokens: %.64q: got %d bytes, want at most %d",
				t.content, len(t.content), maxSpecial)
		case !utf8.ValidString(t.content):
			return finder{}, errors.Errorf("special tokens: %.64q: not valid UTF-8", t.content)
		}
		f.from[int(t.content[0])+1]++
		bytes += len(t.content)
		if !t.special {
			f.plain++
		}
	}
	if bytes > maxSpecialBytes {
		return finder{}, errors.Errorf("special tokens: got %d bytes in %d tokens, want at most %d",
			bytes, len(tokens), maxSpecialBytes)
	}
	slices.SortFunc(tokens, func(a, b added) int { return strings.Compare(a.content, b.content) })
	for b := range 256 {
		f.from[b+1] += f.from[b]
	}
	f.nest()
	if n := len(tokens); n > 0 {
		f.prefix = tokens[0].content[:shared(tokens[0].content, tokens[n-1].content)]
	}
	return f, nil
}

// nest finds the parents.
func (f finder) nest() {
	var open []int32 // tokens that the current one begins with, the longest last
	for i, t := range f.tokens {
		for len(open) > 0 && !strings.HasPrefix(t.content, f.tokens[open[len(open)-1]].content) {
			open = open[:len(open)-1]
		}
		f.parent[i] = -1
		if len(open) > 0 {
			f.parent[i] = open[len(open)-1]
		}
		open = append(open, int32(i))
	}
}

// next returns the first token of a text with its start and its end, and the white space that it takes in between
// them; or nil, and len(text) for both. Special tokens are ordinary text unless they act.
func (f finder) next(text string, acting bool) (at, end int, found *added) {
	for (f.plain > 0 || acting && len(f.tokens) > 0) && at < len(text) {
		skipped := strings.Index(text[at:], f.prefix)
		if skipped < 0 {
			break
		}
		at += skipped
		if found = f.longest(text[at:], acting); found == nil {
			at++
			continue
		}
		end = at + len(found.content)
		if found.left {
			at = len(strings.TrimRightFunc(text[:at], unicode.IsSpace))
		}
		if found.right {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		return at, end, found
	}
	return len(text), len(text), nil
}

// longest returns the longest token that s, which is not empty, begins with, or nil. Such a token is s's predecessor in
// the order of contents, or one that the predecessor begins with.
func (f finder) longest(s string, acting bool) *added {
	first, end := f.from[s[0]], f.from[int(s[0])+1]
	if first == end {
		return nil
	}
	i := first - 1 +
		int32(sort.Search(int(end-first), func(i int) bool { return f.tokens[first+int32(i)].content > s }))
	if i < first {
		return nil
	}
	for most := shared(s, f.tokens[i].content); i >= 0; i = f.parent[i] {
		if t := &f.tokens[i]; len(t.content) <= most && (acting || !t.special) {
			return t
		}
	}
	return nil
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
