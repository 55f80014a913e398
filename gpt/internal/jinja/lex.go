package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type kind int

const (
	endOfFile kind = iota
	data           // text outside of tags
	beginOut       // {{
	endOut         // }}
	beginTag       // {%
	endTag         // %}
	name
	number
	quoted
	operator
)

// piece is a token of a template.
type piece struct {
	kind kind
	text string
	line int
}

// lexer splits a template into tokens, in one pass.
type lexer struct {
	rest    string
	line    int
	mark    string // the end of the tag that rest is in, or ""
	begun   bool   // the token of the begin of that tag has been returned
	open    int    // brackets in that tag
	strip   bool   // the tag before ends with a -
	newLine bool   // rest begins a line
	dot     bool   // the token before is a dot
}

func newLexer(template string) *lexer {
	template = strings.ReplaceAll(template, "\r\n", "\n")
	return &lexer{rest: strings.TrimSuffix(template, "\n"), line: 1, newLine: true}
}

// next returns the next token: without end endOfFile after the last one.
func (l *lexer) next() piece {
	for l.mark == "" && l.rest != "" {
		line := l.line
		if text := l.data(); text != "" {
			return piece{data, text, line}
		}
	}
	if l.mark == "" {
		return piece{endOfFile, "the end", l.line}
	}
	return l.token()
}

const blanks = " \t\n\r\v\f"

// data returns the text up to the next tag, without the blanks that the tags take away. It reads the beginning of that
// tag, or all of a comment.
func (l *lexer) data() string {
	at := 0
	for at < len(l.rest) && !(l.rest[at] == '{' && at+1 < len(l.rest) && strings.IndexByte("{%#", l.rest[at+1]) >= 0) {
		at++
	}
	text, tag := l.rest[:at], l.rest[at:]
	l.line += strings.Count(text, "\n")
	l.rest = ""
	if l.strip {
		text = strings.TrimLeft(text, blanks)
	}
	if tag == "" {
		return text
	}
	kind, sign := tag[1], byte(0)
	if tag = tag[2:]; tag != "" && (tag[0] == '-' || tag[0] == '+' && kind != '{') {
		sign, tag = tag[0], tag[1:]
	}
	if sign == '-' {
		text = strings.TrimRight(text, blanks)
	} else if kind != '{' && sign != '+' {
		start := strings.LastIndexByte(text, '\n') + 1
		if (start > 0 || l.newLine) && strings.Trim(text[start:], " \t") == "" {
			text = text[:start]
		}
	}
	l.newLine = false
	switch l.rest = tag; kind {
	case '#':
		inside, rest, ok := strings.Cut(tag, "#}")
		if !ok {
			panic(failure("a comment has no end"))
		}
		l.line += strings.Count(inside, "\n")
		l.rest = rest
		l.end(inside)
	case '{':
		l.mark = "}}"
	default:
		l.mark = "%}"
	}
	l.begun, l.open = false, 0
	return text
}

// end ends a tag of statements or a comment: blanks after it are taken away if it ends with a -, a new line if it does
// not end with a +.
func (l *lexer) end(inside string) {
	l.strip = strings.HasSuffix(inside, "-")
	if !l.strip && !strings.HasSuffix(inside, "+") && strings.HasPrefix(l.rest, "\n") {
		l.rest, l.newLine = l.rest[1:], true
		l.line++
	}
}

// token returns the next token of a tag.
func (l *lexer) token() piece {
	begin, end := beginTag, endTag
	if l.mark == "}}" {
		begin, end = beginOut, endOut
	}
	if !l.begun {
		l.begun = true
		return piece{begin, "{", l.line}
	}
	text := strings.TrimLeft(l.rest, blanks)
	l.line += strings.Count(l.rest[:len(l.rest)-len(text)], "\n")
	l.rest = text
	for _, sign := range []string{"-", "+", ""} {
		if rest, ok := strings.CutPrefix(l.rest, sign+l.mark); ok && l.open == 0 {
			p := piece{end, l.mark, l.line}
			l.rest, l.mark, l.strip = rest, "", sign == "-"
			if end == endTag {
				l.end(sign)
			}
			return p
		}
	}
	if l.rest == "" {
		panic(failure("a tag has no end"))
	}
	dot := l.dot
	l.dot = false
	switch c := l.rest[0]; {
	case c == '\'' || c == '"':
		return l.quote(c)
	case isDigit(c):
		return l.take(number, l.number(!dot))
	case isLetter(c):
		n := 1
		for n < len(l.rest) && (isLetter(l.rest[n]) || isDigit(l.rest[n])) {
			n++
		}
		return l.take(name, n)
	}
	return l.operator()
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' }

// take returns the token of the first n bytes.
func (l *lexer) take(k kind, n int) piece {
	p := piece{k, l.rest[:n], l.line}
	l.rest = l.rest[n:]
	return p
}

// number returns the length of a number, which may have a fraction and an exponent if broken.
func (l *lexer) number(broken bool) int {
	digits := func(i int) int {
		for i < len(l.rest) && (isDigit(l.rest[i]) || l.rest[i] == '_') {
			i++
		}
		return i
	}
	n := digits(0)
	is := func(i int) bool { return i < len(l.rest) && isDigit(l.rest[i]) }
	if broken && is(n+1) && l.rest[n] == '.' {
		n = digits(n + 1)
	}
	if broken && n < len(l.rest) && l.rest[n]|32 == 'e' {
		if is(n + 1) {
			n = digits(n + 1)
		} else if is(n+2) && (l.rest[n+1] == '+' || l.rest[n+1] == '-') {
			n = digits(n + 2)
		}
	}
	return n
}

func (l *lexer) operator() piece {
	for _, op := range []string{"==", "!=", "<=", ">=", "//", "**"} {
		if strings.HasPrefix(l.rest, op) {
			return l.take(operator, 2)
		}
	}
	switch c := l.rest[:1]; {
	case strings.Contains("([{", c):
		l.open++
	case strings.Contains(")]}", c):
		l.open--
	case !strings.Contains("+-*/%~<>=.,:|", c):
		panic(failure("got %.8q in a tag", l.rest))
	default:
		l.dot = c == "."
	}
	return l.take(operator, 1)
}

// quote returns a string with Python's escapes.
func (l *lexer) quote(mark byte) piece {
	var s strings.Builder
	for i := 1; i < len(l.rest); i++ {
		c := l.rest[i]
		if c == mark {
			p := piece{quoted, s.String(), l.line}
			l.line += strings.Count(l.rest[:i], "\n")
			l.rest = l.rest[i+1:]
			return p
		}
		if c != '\\' || i+1 == len(l.rest) {
			s.WriteByte(c)
			continue
		}
		i++
		size := 0
		switch l.rest[i] {
		case 'x':
			size = 2
		case 'u':
			size = 4
		case 'U':
			size = 8
		}
		at := strings.IndexByte("ntr\\'\"abfv\n", l.rest[i])
		switch {
		case size > 0 && i+size < len(l.rest):
			code, err := strconv.ParseUint(l.rest[i+1:i+1+size], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) {
				panic(failure("got %q, want a character", l.rest[i-1:i+1+size]))
			}
			s.WriteRune(rune(code))
			i += size
		case at >= 0:
			s.WriteString([]string{"\n", "\t", "\r", "\\", "'", "\"", "\a", "\b", "\f", "\v", ""}[at])
		default:
			s.WriteString(l.rest[i-1 : i+1])
		}
	}
	panic(failure("a string has no end"))
}
