package jinja

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
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

// lexer splits a template into tokens.
type lexer struct {
	rest   string
	line   int
	pieces []piece
}

func lex(template string) ([]piece, error) {
	template = strings.ReplaceAll(template, "\r\n", "\n")
	l := &lexer{rest: strings.TrimSuffix(template, "\n"), line: 1}
	newLine := true // the text begins a line
	strip := false  // the tag before ends with a -
	for {
		at := indexAny(l.rest, "{{", "{%", "{#")
		text, tag := l.rest[:at], l.rest[at:]
		if strip {
			text = strings.TrimLeft(text, blanks)
		}
		if len(tag) > 2 && tag[2] == '-' {
			text = strings.TrimRight(text, blanks)
		} else if tag != "" && tag[1] != '{' && !(len(tag) > 2 && tag[2] == '+') {
			start := strings.LastIndexByte(text, '\n') + 1
			if (start > 0 || newLine) && strings.Trim(text[start:], " \t") == "" {
				text = text[:start]
			}
		}
		if text != "" {
			l.add(data, text)
		}
		l.line += strings.Count(l.rest[:at], "\n")
		if tag == "" {
			l.add(endOfFile, "the end")
			return l.pieces, nil
		}
		l.rest = strings.TrimLeft(tag[2:], "")
		if len(l.rest) > 0 && (l.rest[0] == '-' || l.rest[0] == '+' && tag[1] != '{') {
			l.rest = l.rest[1:]
		}
		var err error
		if strip, err = l.tag(tag[1]); err != nil {
			return nil, errors.WithMessagef(err, "line %d", l.line)
		}
		newLine = false
		if tag[1] != '{' && strings.HasPrefix(l.rest, "\n") && !strip {
			l.rest, newLine = l.rest[1:], true
			l.line++
		}
	}
}

const blanks = " \t\n\r\v\f"

// indexAny returns the first place of one of the marks, or the length of s.
func indexAny(s string, marks ...string) int {
	first := len(s)
	for _, m := range marks {
		if at := strings.Index(s[:min(len(s), first+len(m)-1)], m); at >= 0 {
			first = min(first, at)
		}
	}
	return first
}

func (l *lexer) add(k kind, text string) { l.pieces = append(l.pieces, piece{k, text, l.line}) }

// tag reads up to the end of a tag, and reports whether it ends with a -.
func (l *lexer) tag(of byte) (strip bool, err error) {
	if of == '#' {
		inside, rest, ok := strings.Cut(l.rest, "#}")
		if !ok {
			return false, errors.New("a comment has no end")
		}
		l.line += strings.Count(inside, "\n")
		l.rest = rest
		return strings.HasSuffix(inside, "-"), nil
	}
	begin, end, mark := beginTag, endTag, "%}"
	if of == '{' {
		begin, end, mark = beginOut, endOut, "}}"
	}
	l.add(begin, "{"+string(of))
	for open := 0; ; {
		for len(l.rest) > 0 && strings.ContainsRune(blanks, rune(l.rest[0])) {
			if l.rest[0] == '\n' {
				l.line++
			}
			l.rest = l.rest[1:]
		}
		for _, with := range []string{"-", "+", ""} {
			if rest, ok := strings.CutPrefix(l.rest, with+mark); ok && open == 0 {
				l.add(end, mark)
				l.rest = rest
				return with == "-", nil
			}
		}
		if l.rest == "" {
			return false, errors.New("a tag has no end")
		}
		switch c := l.rest[0]; {
		case c == '\'' || c == '"':
			err = l.quote(c)
		case isDigit(c):
			l.take(number, func(c byte) bool { return isDigit(c) || c == '.' || c == '_' })
		case isLetter(c):
			l.take(name, func(c byte) bool { return isLetter(c) || isDigit(c) })
		default:
			err = l.operator(&open)
		}
		if err != nil {
			return false, err
		}
	}
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' }

// take adds the longest token of such bytes.
func (l *lexer) take(k kind, is func(byte) bool) {
	n := 0
	for n < len(l.rest) && is(l.rest[n]) {
		n++
	}
	l.add(k, l.rest[:n])
	l.rest = l.rest[n:]
}

func (l *lexer) operator(open *int) error {
	for _, op := range []string{"==", "!=", "<=", ">=", "//", "**"} {
		if strings.HasPrefix(l.rest, op) {
			l.add(operator, op)
			l.rest = l.rest[2:]
			return nil
		}
	}
	c := l.rest[:1]
	switch {
	case strings.Contains("([{", c):
		*open++
	case strings.Contains(")]}", c):
		*open--
	case !strings.Contains("+-*/%~<>=.,:|", c):
		return errors.Errorf("got %.8q in a tag", l.rest)
	}
	l.add(operator, c)
	l.rest = l.rest[1:]
	return nil
}

// quote adds a string with Python's escapes.
func (l *lexer) quote(mark byte) error {
	var s strings.Builder
	for i := 1; i < len(l.rest); i++ {
		c := l.rest[i]
		if c == mark {
			l.add(quoted, s.String())
			l.line += strings.Count(l.rest[:i], "\n")
			l.rest = l.rest[i+1:]
			return nil
		}
		if c != '\\' || i+1 == len(l.rest) {
			s.WriteByte(c)
			continue
		}
		i++
		size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[l.rest[i]]
		at := strings.IndexByte("ntr\\'\"\n", l.rest[i])
		switch {
		case size > 0 && i+size < len(l.rest):
			code, err := strconv.ParseUint(l.rest[i+1:i+1+size], 16, 32)
			if err != nil || !utf8.ValidRune(rune(code)) {
				return errors.Errorf("got %q, want a character", l.rest[i-1:i+1+size])
			}
			s.WriteRune(rune(code))
			i += size
		case at >= 0:
			s.WriteString([]string{"\n", "\t", "\r", "\\", "'", "\"", ""}[at])
		default:
			s.WriteString(l.rest[i-1 : i+1])
		}
	}
	return errors.New("a string has no end")
}
