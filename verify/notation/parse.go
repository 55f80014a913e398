package notation

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// longest is the largest number of characters of a formula, and deepest of parentheses within one another.
const (
	longest = 2000
	deepest = 50
)

// Formula is a formula that Parse has read.
type Formula struct {
	Text string
	root node
}

// Parse reads a formula. An error names the column, what stands there, and what is wanted.
func Parse(text string) (f Formula, err error) {
	if n := utf8.RuneCountInString(text); n > longest {
		return f, fmt.Errorf("got %d characters, want at most %d", n, longest)
	}
	tokens, err := lex(text)
	if err != nil {
		return f, err
	}
	p := &parser{tokens: tokens}
	root, err := p.sum()
	if err == nil && p.next().kind != end {
		err = p.wants("a sign such as +, −, ∘, · or / between two matrices")
	}
	return Formula{text, root}, err
}

// parser reads tokens from left to right, by one function for each level of precedence.
type parser struct {
	tokens []token
	at     int
	depth  int
}

func (p *parser) next() token { return p.tokens[p.at] }

// takes moves past a token of the kind and reports whether there was one.
func (p *parser) takes(kind rune) bool {
	if p.next().kind != kind {
		return false
	}
	p.at++
	return true
}

// wants returns the error that what is wanted does not come next.
func (p *parser) wants(what string) error {
	return fmt.Errorf("column %d: got %s, want %s", p.next().at, p.next().text, what)
}

// sum reads products between + and −.
func (p *parser) sum() (node, error) {
	left, err := p.product()
	for err == nil && (p.next().kind == '+' || p.next().kind == '−') {
		op := p.next().kind
		p.at++
		var right node
		right, err = p.product()
		left = binary{op, left, right}
	}
	return left, err
}

// product reads factors between ∘, · and /. It may be negative. Σ adds all that follows.
func (p *parser) product() (node, error) {
	if p.takes('−') {
		x, err := p.product()
		return minus{x}, err
	}
	left, err := p.factorOrSum()
	for err == nil && (p.next().kind == '∘' || p.next().kind == '·' || p.next().kind == '/') {
		op := p.next().kind
		p.at++
		var right node
		right, err = p.factorOrSum()
		left = binary{op, left, right}
	}
	return left, err
}

// factorOrSum reads a factor, or a sum over the product that follows.
func (p *parser) factorOrSum() (node, error) {
	if axis, ok := strings.CutPrefix(p.next().text, "Σ"); ok {
		p.at++
		x, err := p.product()
		return total{axis, x}, err
	}
	return p.factor()
}

// factor reads an operand and the signs after it.
func (p *parser) factor() (x node, err error) {
	if p.depth++; p.depth > deepest {
		return nil, fmt.Errorf("got more than %d parentheses within one another", deepest)
	}
	x, err = p.operand()
	p.depth--
	for err == nil {
		switch {
		case p.takes('ᵗ'):
			x = transpose{x}
		case p.takes('²'):
			x = square{x}
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *parser) operand() (node, error) {
	switch t := p.next(); t.kind {
	case number:
		p.at++
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, fmt.Errorf("column %d: got %s, want a number", t.at, t.text)
		}
		return constant{v, t.text}, nil
	case word:
		p.at++
		if !p.takes('(') {
			return name(t.text), nil
		}
		return p.call(t)
	case '(':
		p.at++
		x, err := p.sum()
		if err == nil && !p.takes(')') {
			err = p.wants(")")
		}
		return group{x}, err
	}
	return nil, p.wants("a matrix, a number, a function or (")
}

// call reads the arguments of a function, after its opening parenthesis.
func (p *parser) call(t token) (node, error) {
	if axis, ok := strings.CutPrefix(t.text, "sum"); ok && (axis == everything || axis == rows || axis == columns) {
		x, err := p.sum()
		if err == nil && !p.takes(')') {
			err = p.wants(")")
		}
		return group{total{axis, group{x}}}, err
	}
	f, ok := functions[t.text]
	if !ok {
		return nil, fmt.Errorf("column %d: got the function %s, want one of %s", t.at, t.text, functionNames())
	}
	var list []node
	for {
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		if list = append(list, x); !p.takes(',') {
			break
		}
	}
	if !p.takes(')') {
		return nil, p.wants(") or ,")
	}
	if len(list) != f.arguments && f.arguments > 0 {
		return nil, fmt.Errorf("column %d: %s: got %d arguments, want %d", t.at, t.text, len(list), f.arguments)
	}
	return call{t.text, f, list}, nil
}
