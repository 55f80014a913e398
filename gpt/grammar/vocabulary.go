package grammar

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Vocabulary holds the texts of tokens as trees of their bytes, so that a common beginning is followed once, and a byte
// that leaves the grammar ends all texts behind it. It is immutable.
type Vocabulary struct {
	texts  []string // by id
	ids    []int    // those with a text, in the order of their texts
	single [256]bool

	all     tree
	odd     tree       // of the texts that are not plain
	plain   [][]uint64 // by n, the set of the plain texts of at most n characters
	longest int        // bytes of a text
}

// A plain text consists of characters that stand for themselves within quotes: no quote, no backslash, no control
// character and no part of a character.
func plain(s string) bool {
	other := func(c rune) bool { return c < 0x20 || c == '"' || c == '\\' }
	return utf8.ValidString(s) && !strings.ContainsFunc(s, other)
}

// NewVocabulary returns a vocabulary of the texts of tokens, by their ids. A token with an empty text, such as a
// special token, is in no grammar.
func NewVocabulary(texts []string) *Vocabulary {
	v := &Vocabulary{texts: slices.Clone(texts)}
	most := 0 // characters of a plain text
	for id, s := range texts {
		if s == "" {
			continue
		}
		v.ids = append(v.ids, id)
		v.longest = max(v.longest, len(s))
		if len(s) == 1 {
			v.single[s[0]] = true
		}
		if plain(s) {
			most = max(most, utf8.RuneCountInString(s))
		}
	}
	slices.SortStableFunc(v.ids, func(a, b int) int { return strings.Compare(texts[a], texts[b]) })
	words := (len(texts) + 63) / 64
	most = min(most, mostPlain)
	for range most + 1 {
		v.plain = append(v.plain, make([]uint64, words))
	}
	var odd []int
	for _, id := range v.ids {
		n := utf8.RuneCountInString(texts[id])
		if n > most || !plain(texts[id]) {
			odd = append(odd, id)
			continue
		}
		for k := n; k <= most; k++ {
			v.plain[k][id>>6] |= 1 << (id & 63)
		}
	}
	v.all, v.odd = treeOf(texts, v.ids), treeOf(texts, odd)
	return v
}

// mostPlain is the largest number of characters of a plain text; longer ones are followed like the odd ones.
const mostPlain = 32

// tree holds texts: their bytes in the order of a walk from each byte to those behind it.
type tree []branch

// branch is a byte of texts.
type branch struct {
	byte  byte
	depth int32
	end   int32 // the place of the first byte that is not behind this one
	ids   []int // of the texts that end here
}

// treeOf returns the tree of the texts of some ids, which are in the order of their texts.
func treeOf(texts []string, ids []int) (t tree) {
	var path []int // the places of the bytes of the text before
	before := ""
	for i, id := range ids {
		s, shared := texts[id], 0
		for shared < min(len(before), len(s)) && before[shared] == s[shared] {
			shared++
		}
		if i > 0 && s == before {
			last := &t[path[len(path)-1]]
			last.ids = append(last.ids, id)
			continue
		}
		for _, at := range path[shared:] {
			t[at].end = int32(len(t))
		}
		path = path[:shared]
		for depth := shared; depth < len(s); depth++ {
			path = append(path, len(t))
			t = append(t, branch{byte: s[depth], depth: int32(depth)})
		}
		t[len(t)-1].ids, before = ids[i:i+1:i+1], s
	}
	for _, at := range path {
		t[at].end = int32(len(t))
	}
	return t
}
