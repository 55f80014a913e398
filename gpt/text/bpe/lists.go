package bpe

import (
	"bytes"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// mergeList holds the merges of a tokenizer.json by rank: each "left right" or, in newer files, ["left", "right"].
type mergeList [][2]string

// UnmarshalJSON reads the list, which is valid JSON, entry by entry: encoding/json needs several times the memory.
func (l *mergeList) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if data[0] != '[' {
		return errors.Errorf("merges: got %.64q, want a list", data)
	}
	list := make(mergeList, 0, entries(data))
	for data = skip(data[1:]); data[0] != ']'; data = skip(data) {
		var m [2]string
		var err error
		if m, data, err = mergeIn(data); err != nil {
			return errors.WithMessagef(err, "merges: %d", len(list))
		}
		list = append(list, m)
	}
	*l = list
	return nil
}

// mergeIn returns the merge that data begins with, and the rest of data.
func mergeIn(data []byte) (m [2]string, rest []byte, err error) {
	switch data[0] {
	case '"':
		text, rest := stringIn(data)
		m, err = pairIn(text)
		return m, rest, err
	case '[':
		n := 0
		for data = skip(data[1:]); data[0] == '"'; data = skip(data) {
			var text string
			text, data = stringIn(data)
			if n < len(m) {
				m[n] = text
			}
			n++
		}
		if data[0] == ']' && n == len(m) {
			return m, data[1:], nil
		}
		if data[0] == ']' {
			return m, nil, errors.Errorf("got %d tokens, want 2", n)
		}
	}
	return m, nil, errors.Errorf(`got %.64q, want "left right" or ["left", "right"]`, data)
}

// stringIn returns the string that data, which is valid JSON, begins with, and the rest of data.
func stringIn(data []byte) (s string, rest []byte) {
	end := 1
	for data[end] != '"' {
		if data[end] == '\\' {
			end++
		}
		end++
	}
	s = string(data[1:end])
	if strings.IndexByte(s, '\\') >= 0 {
		field.UnmarshalPart(data[:end+1], &s) // valid, so without an error
	}
	return s, data[end+1:]
}

// entries returns the number of entries of a list or object, which is valid JSON, but 1 for an empty one.
func entries(data []byte) int {
	n, depth := 1, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 1 {
				n++
			}
		}
	}
	return n
}

// skip returns data from the next value, name or closing bracket on.
func skip(data []byte) []byte { return bytes.TrimLeft(data, ",: \t\r\n") }
