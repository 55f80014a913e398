package safetensors

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string. A string without escapes is returned as a part of the text.
func (p *parser) str() []byte {
	p.expect('"')
	if p.err != nil {
		return nil
	}
	start, escaped := p.pos, false
	for ; p.pos < len(p.text) && p.text[p.pos] != '"'; p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '\\':
			escaped = true
			p.pos++
		case c < ' ':
			p.failf("control character in a string")
			return nil
		}
	}
	if p.pos >= len(p.text) {
		p.failf("string without end")
		return nil
	}
	raw := p.text[start:p.pos]
	p.pos++
	if !utf8.Valid(raw) {
		p.failf("string is not valid UTF-8")
	} else if escaped {
		raw = p.unescape(raw)
	}
	return raw
}

// unescape replaces the escapes. Half a surrogate pair, such as \ud800 alone, is an error: encoding/json replaces it,
// and two names could then become equal.
func (p *parser) unescape(raw []byte) []byte {
	// Each escape stands for at least one byte less than it has.
	escapes := bytes.Count(raw, []byte(`\`)) - bytes.Count(raw, []byte(`\\`))
	out := make([]byte, 0, len(raw)-escapes)
	for len(raw) > 0 {
		if raw[0] != '\\' {
			out = append(out, raw[0])
			raw = raw[1:]
			continue
		}
		r, n := escape(raw)
		if utf16.IsSurrogate(r) {
			low, m := escape(raw[n:])
			r, n = utf16.DecodeRune(r, low), n+m
			if r == utf8.RuneError {
				p.failf("string has half of a surrogate pair")
				return nil
			}
		}
		if n == 0 {
			p.failf("string has an escape that JSON does not define")
			return nil
		}
		out = utf8.AppendRune(out, r)
		raw = raw[n:]
	}
	return out
}

// escape returns the character and the length of the escape that raw begins with; the length is 0 if there is none.
func escape(raw []byte) (r rune, n int) {
	if len(raw) < 2 || raw[0] != '\\' {
		return 0, 0
	}
	if raw[1] == 'u' && len(raw) >= 6 {
		code, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
		if err != nil {
			return 0, 0
		}
		return rune(code), 6
	}
	const names, means = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(names, raw[1]); i >= 0 {
		return rune(means[i]), 2
	}
	return 0, 0
}
