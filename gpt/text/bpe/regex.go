package bpe

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
	"github.com/pkg/errors"
)

// patternTime is the time of a single match, and with patternByte for each byte of a text the time of all its matches.
const (
	patternTime = 2 * time.Second
	patternByte = 20 * time.Microsecond
)

// regex is a cutter by a regular expression: its matches and the text between them are pieces, which join their
// neighbours as the behavior of a Split says. Text that Hugging Face's libraries would remove is a piece too, so that
// an encoding loses nothing.
type regex struct {
	*regexp2.Regexp
	joins func(before, now bool) bool // whether a part joins the one before it; true is a match
}

// behaviors holds how the parts of a text are joined, by the behavior of a Split.
var behaviors = map[string]func(before, now bool) bool{
	"Isolated":           func(_, _ bool) bool { return false },
	"Removed":            func(_, _ bool) bool { return false },
	"MergedWithPrevious": func(before, now bool) bool { return now && !before },
	"MergedWithNext":     func(before, now bool) bool { return before && !now },
	"Contiguous":         func(before, now bool) bool { return before == now },
}

// newRegex returns the cutter of a Split.
func newRegex(pattern, behavior string, invert bool) (*regex, error) {
	translated, err := translate(pattern)
	if err != nil {
		return nil, err
	}
	re, err := compile(translated)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = patternTime
	joins := behaviors[behavior]
	return &regex{re, func(before, now bool) bool { return joins(before != invert, now != invert) }}, nil
}

// compile returns a regular expression, and an error if the engine panics.
func compile(pattern string) (re *regexp2.Regexp, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("the engine of regular expressions failed: %v", p)
		}
	}()
	return regexp2.Compile(pattern, regexp2.Multiline)
}

// cut implements cutter. A piece that takes too long is an error.
func (r *regex) cut(s string, until time.Time, do func(piece string)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("the engine of regular expressions failed: %v", p)
		}
	}()
	start, end, before := 0, 0, false // the piece that is not complete, and whether its last part is a match
	part := func(to int, now bool) {
		if to == end {
			return
		}
		if start < end && !r.joins(before, now) {
			do(s[start:end])
			start = end
		}
		end, before = to, now
	}
	at, byteAt := 0, 0 // of the same character
	bytes := func(rune int) int {
		for ; at < rune; at++ {
			_, n := utf8.DecodeRuneInString(s[byteAt:])
			byteAt += n
		}
		return byteAt
	}
	m, err := r.FindRunesMatch([]rune(s))
	for ; m != nil && err == nil; m, err = r.FindNextMatch(m) {
		part(bytes(m.Index), false)
		part(bytes(m.Index+m.Length), true)
		if time.Now().After(until) {
			err = errors.New("too long")
			break
		}
	}
	if err != nil {
		return errors.Errorf("the pattern %.200q of the tokenizer takes too long for a text of %d bytes",
			r.String(), len(s))
	}
	part(len(s), false)
	if start < end {
		do(s[start:end])
	}
	return nil
}

// translate returns a regular expression of Oniguruma, in which files are written, for the engine, which has the syntax
// of .NET. What the two read differently is an error, and so is a repetition within a repetition, such as (a+)+, for
// which an engine that tries all ways may take a time that grows exponentially with the text.
func translate(pattern string) (string, error) {
	t := &translator{rest: pattern, groups: []group{{}}, atom: -1}
	for t.rest != "" {
		if err := t.next(); err != nil {
			return "", err
		}
	}
	if len(t.groups) > 1 {
		return "", errors.New("a group has no end")
	}
	return t.out.String(), nil
}

// group is an open group of a regular expression.
type group struct {
	start   int  // its place in the result
	endless bool // it repeats something without limit
}

// translator reads a regular expression.
type translator struct {
	rest   string
	out    strings.Builder
	groups []group
	atom   int  // the place in the result of the part that a repetition repeats, or -1
	inner  bool // that part has an endless repetition in it
}

// take moves n bytes to the result.
func (t *translator) take(n int) {
	t.out.WriteString(t.rest[:n])
	t.rest = t.rest[n:]
}

func (t *translator) next() error {
	switch c := t.rest[0]; c {
	case '(':
		return t.begin()
	case ')':
		if len(t.groups) == 1 {
			return errors.New("got ) without (")
		}
		g := t.groups[len(t.groups)-1]
		t.groups = t.groups[:len(t.groups)-1]
		t.groups[len(t.groups)-1].endless = t.groups[len(t.groups)-1].endless || g.endless
		t.atom, t.inner = g.start, g.endless
		t.take(1)
		return nil
	case '*', '+', '?', '{':
		return t.repetition()
	case '|', '^', '$':
		t.atom = -1
		t.take(1)
		return nil
	}
	t.atom, t.inner = t.out.Len(), false
	switch t.rest[0] {
	case '[':
		return t.class()
	case '\\':
		return t.escape()
	}
	_, n := utf8.DecodeRuneInString(t.rest)
	t.take(n)
	return nil
}

// begin reads the beginning of a group.
func (t *translator) begin() error {
	if len(t.groups) > 100 {
		return errors.New("got more than 100 groups within each other")
	}
	t.groups = append(t.groups, group{start: t.out.Len()})
	t.atom = -1
	for _, kind := range []string{"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:"} {
		if strings.HasPrefix(t.rest, kind) {
			t.take(len(kind))
			return nil
		}
	}
	if strings.HasPrefix(t.rest, "(?") {
		return errors.Errorf("got the group %.4s, want (, (?:, (?=, (?!, (?<=, (?<!, (?> or (?i:", t.rest)
	}
	t.take(1)
	return nil
}

// repetition reads *, +, ?, {2,3} and their like, also with ? (as few as possible) or + (without trying fewer).
func (t *translator) repetition() error {
	n, endless := 1, t.rest[0] == '*' || t.rest[0] == '+'
	if t.rest[0] == '{' {
		end := strings.IndexByte(t.rest, '}')
		low, high, two := strings.Cut(t.rest[1:max(end, 1)], ",")
		number := func(s string) bool { return len(s) <= 3 && strings.Trim(s, "0123456789") == "" }
		if end < 0 || low == "" || !number(low) || !number(high) {
			return errors.Errorf("got the repetition %.12q, want one such as {2,3}, of at most 999", t.rest)
		}
		n, endless = end+1, two && high == ""
	}
	switch {
	case t.atom < 0:
		return errors.Errorf("got %.12q with nothing to repeat", t.rest)
	case endless && t.inner:
		return errors.Errorf("got the repetition %.12q of what repeats without limit, which may take too long", t.rest)
	}
	braces := t.rest[0] == '{'
	t.take(n)
	switch {
	case braces && strings.HasPrefix(t.rest, "?"), braces && strings.HasPrefix(t.rest, "+"):
		return errors.Errorf("got %.12q after a repetition in braces", t.rest)
	case strings.HasPrefix(t.rest, "?"):
		t.take(1)
	case strings.HasPrefix(t.rest, "+"):
		s := t.out.String()
		t.out.Reset()
		t.out.WriteString(s[:t.atom] + "(?>" + s[t.atom:] + ")")
		t.rest = t.rest[1:]
	}
	g := &t.groups[len(t.groups)-1]
	g.endless = g.endless || endless
	t.atom = -1
	return nil
}

// class reads a class of characters.
func (t *translator) class() error {
	t.take(1)
	if strings.HasPrefix(t.rest, "^") {
		t.take(1)
	}
	for first := true; ; first = false {
		switch {
		case t.rest == "":
			return errors.New("a class of characters has no end")
		case t.rest[0] == ']' && first, t.rest[0] == '[', strings.HasPrefix(t.rest, "&&"):
			return errors.Errorf("got %.12q in a class of characters, want \\ before a bracket and no &&", t.rest)
		case t.rest[0] == ']':
			t.take(1)
			return nil
		case t.rest[0] == '\\':
			if err := t.escape(); err != nil {
				return err
			}
		default:
			_, n := utf8.DecodeRuneInString(t.rest)
			t.take(n)
		}
	}
}

// escape reads a character or a class after a backslash.
func (t *translator) escape() error {
	if len(t.rest) < 2 {
		return errors.New("got nothing after a backslash")
	}
	letter := t.rest[1]
	_, n := utf8.DecodeRuneInString(t.rest[1:])
	switch {
	case letter == 'p' || letter == 'P':
		end := strings.IndexByte(t.rest, '}')
		if end < 4 || t.rest[2] != '{' || t.rest[3] == '^' {
			return errors.Errorf("got %.12q, want a class such as \\p{L}", t.rest)
		}
		n = end
	case letter == 'x', letter == 'u':
		n = map[byte]int{'x': 3, 'u': 5}[letter]
		if len(t.rest) <= n || strings.Trim(t.rest[2:n+1], "0123456789abcdefABCDEF") != "" {
			return errors.Errorf("got %.12q, want %d hexadecimal digits", t.rest, n-1)
		}
	case strings.IndexByte("sSdDrntfva", letter) < 0 && (isLetter(letter) || letter >= '0' && letter <= '9'):
		return errors.Errorf("got %.2q, which is not supported", t.rest)
	}
	t.take(n + 1)
	return nil
}

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }
