package text

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// ended returns s up to its first stop string: the one that ends first, and of these the longest.
func ended(s string, stop []string) (string, bool) {
	for end := range len(s) + 1 {
		for begin := range end {
			for _, t := range stop {
				if s[begin:end] == t {
					return s[:begin], true
				}
			}
		}
	}
	return s, false
}

func longest(list []string) (s string) {
	for _, t := range list {
		if len(t) > len(s) {
			s = t
		}
	}
	return s
}

// beginsCharacter reports whether s is the incomplete beginning of a single character.
func beginsCharacter(s string) bool {
	for _, more := range []string{"\x80", "\x90\x80", "\x80\x80", "\x90\x80\x80", "\x80\x80\x80"} {
		if utf8.ValidString(s+more) && utf8.RuneCountInString(s+more) == 1 && !utf8.ValidString(s) {
			return true
		}
	}
	return false
}

// However a text is cut into tokens, the pieces form the text, and everything that is decided is yielded at once.
func TestStream(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	letters := []string{"a", "b", "a", "b", "é", "世", "😀", " "}
	some := func(n int) string {
		var s strings.Builder
		for range n {
			s.WriteString(letters[rng.IntN(len(letters))])
		}
		return s.String()
	}
	characters, err := NewCharacters(strings.Join(letters, ""))
	if err != nil {
		t.Fatal(err)
	}
	stopped := 0
	for range 3000 {
		s := some(rng.IntN(16))
		words, err := NewWords(s + " x")
		if err != nil {
			t.Fatal(err)
		}
		var stop []string
		for range rng.IntN(4) {
			stop = append(stop, some(1+rng.IntN(4)))
		}
		tok := []Tokenizer{Bytes{}, characters, words}[rng.IntN(3)]
		if rng.IntN(5) == 0 { // invalid UTF-8 is passed on unchanged
			tok = Bytes{}
			s += []string{
				"\xc3", "\xff", "\x80a", "\xe4\xb8", "\xe4\xb8a", "\xf0\x9f\x98",
			}[rng.IntN(6)] + some(rng.IntN(3))
			if rng.IntN(2) == 0 {
				stop = append(stop, "\xb8"+some(1))
			}
		}
		ids, err := tok.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		var got, fed string
		var pieces []string
		source := func(yield func(int, error) bool) {
			for _, id := range ids {
				piece, _ := tok.Decode([]int{id})
				fed += piece
				if !yield(id, nil) {
					return
				}
				want := fed // except for the possible beginning of a stop string or a character
				for held := len(longest(stop)); held > 0; held-- {
					if n := len(fed) - held; n >= 0 &&
						slices.ContainsFunc(stop, func(t string) bool { return strings.HasPrefix(t, fed[n:]) }) {
						want = fed[:n]
						break
					}
				}
				for held := 3; held > 0; held-- {
					if n := len(want) - held; n >= 0 && beginsCharacter(want[n:]) {
						want = want[:n]
						break
					}
				}
				if got != want {
					t.Fatalf("after %q of %q with stops %q: got %q, want %q", fed, s, stop, got, want)
				}
			}
		}
		for piece, err := range Stream(tok, source, stop...) {
			if err != nil || piece == "" {
				t.Fatalf("%q with stops %q: got piece %q (%v)", s, stop, piece, err)
			}
			got += piece
			pieces = append(pieces, piece)
		}
		want, was := ended(s, stop)
		if got != want {
			t.Fatalf("%q with stops %q: got %q, want %q", s, stop, pieces, want)
		}
		if was {
			stopped++
		}
		for _, piece := range pieces {
			if utf8.ValidString(s) && !utf8.ValidString(piece) {
				t.Fatalf("%q with stops %q: got piece %q", s, stop, piece)
			}
		}
	}
	if stopped < 300 {
		t.Errorf("%d texts were stopped, want at least 300", stopped)
	}
}

// counted yields the bytes of s and then an error, and sets ended when it returns.
func counted(s string, err error, ended *bool) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		defer func() { *ended = true }()
		for i := range len(s) {
			if !yield(int(s[i]), nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

// The source of ids is stopped as soon as no more ids are needed: at a stop string, at an error, or when the loop
// ends. The text before an error comes first.
func TestStreamLeavesItsSource(t *testing.T) {
	glass := errors.New("glass")
	for _, tc := range []struct {
		s    string
		err  error
		want string
	}{
		{"one", nil, "one"}, {"one. two", nil, "one"}, {"on", glass, "on|glass"}, {"one.", glass, "one"},
		{"", glass, "|glass"}, {"a\xc3", glass, "a\xc3|glass"}, {"", nil, ""}, {"1, ", glass, "1, |glass"},
	} {
		var left bool
		var got string
		for piece, err := range Stream(Bytes{}, counted(tc.s, tc.err, &left), ". ", ".", ", t") {
			if got += piece; err != nil {
				got += "|" + err.Error()
			}
		}
		if got != tc.want || !left {
			t.Errorf("%q and %v: got %q, want %q; left: %t", tc.s, tc.err, got, tc.want, left)
		}
	}
	// broken off at a piece, at the last before a stop, and at what was held
	for _, s := range []string{"long", "l.", "\xc3"} {
		var left bool
		for range Stream(Bytes{}, counted(s, glass, &left), ".") {
			break
		}
		if !left {
			t.Errorf("%q: not left", s)
		}
	}
}

func TestStreamRefuses(t *testing.T) {
	var left bool
	source := counted("abc", nil, &left)
	for _, tc := range []struct {
		tok  Tokenizer
		ids  iter.Seq2[int, error]
		stop []string
		says string
	}{
		{nil, source, nil, "stream: tokenizer: got nil"},
		{Bytes{}, nil, nil, "stream: ids: got nil"},
		{Bytes{}, source, []string{"a", ""}, "stream: stop: string 1 is empty"},
		{new(Characters), source, nil, "id 97"},
		{(*Words)(nil), source, nil, "id 97"},
	} {
		n := 0
		for piece, err := range Stream(tc.tok, tc.ids, tc.stop...) {
			if n++; piece != "" {
				t.Errorf("%s: got piece %q", tc.says, piece)
			}
			wantError(t, err, tc.says)
		}
		if n != 1 {
			t.Errorf("%s: got %d errors, want 1", tc.says, n)
		}
	}
}

func TestUntil(t *testing.T) {
	glass := errors.New("glass")
	for _, tc := range []struct {
		s    string
		err  error
		stop []int
		want string
	}{
		{"abc", nil, nil, "abc"}, {"abc", nil, []int{'x', 'c'}, "ab"}, {"abc", nil, []int{'a'}, ""},
		{"abcb", nil, []int{'c', 'b'}, "a"},
		{"ab", glass, []int{'c'}, "ab|glass"}, {"ab", glass, []int{0}, "ab|glass"}, {"ab", glass, []int{'b'}, "a"},
	} {
		var left bool
		got := ""
		for id, err := range Until(counted(tc.s, tc.err, &left), tc.stop...) {
			if err != nil {
				got += "|" + err.Error()
			} else {
				got += string(rune(id))
			}
		}
		if got != tc.want || !left {
			t.Errorf("%q, %v until %v: got %q, want %q; left: %t", tc.s, tc.err, tc.stop, got, tc.want, left)
		}
	}
	n := 0
	for id, err := range Until(nil, 1) {
		wantError(t, err, "until: ids: got nil")
		n += 1 + id
	}
	if n != 1 {
		t.Errorf("nil: got %d, want one error and id 0", n)
	}
	var left bool
	for range Until(counted("abc", nil, &left), 'c') {
		break
	}
	if !left {
		t.Error("not left")
	}
}
