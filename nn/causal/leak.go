package causal

import (
	"fmt"
	"strings"

	"github.com/pkg/errors"
)

// Leak is the error of a model that looks ahead or into another text.
type Leak struct {
	Layer    string // the first activation that changes, by its name in gpt/inspect; "" is the output
	Position int    // the first token whose result changes there
	Tokens   []int  // the tokens that it sees: later ones of its text, or another text's; if over 64, only some
	Between  bool   // the tokens belong to another text of the batch
}

// Error returns the layer, the position and the tokens that it sees.
func (l *Leak) Error() string {
	if l == nil {
		return "no leak (nil)"
	}
	where := l.Layer
	if where == "" {
		where = "the output"
	}
	if l.Between {
		return fmt.Sprintf("%s: token %d sees another text of the batch, its tokens %s: "+
			"texts must not influence one another", where, l.Position, ranges(l.Tokens))
	}
	return fmt.Sprintf("%s: token %d sees later tokens of its text, %s: a language model may not look ahead",
		where, l.Position, ranges(l.Tokens))
}

// ranges formats 1, 2, 3, 7 as "1–3, 7".
func ranges(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := fmt.Sprint(list[i])
		if j > i {
			part = fmt.Sprintf("%d–%d", list[i], list[j])
		}
		parts, i = append(parts, part), j+1
	}
	return strings.Join(parts, ", ")
}

// locate returns the Leak of a model whose results change although they must not, if the first text changes from a
// position on.
func locate(m Model, from int) error {
	names, err := m.Output.Graph().Places()
	if err != nil {
		return err
	}
	p, err := newProbe(m, names)
	if err != nil {
		return err
	}
	if again, err := p.differs(m.tokens(), m.tokens()); err != nil || again.found {
		if err == nil {
			err = errors.Errorf("%s: the same tokens give different numbers each time", p.names[again.activation])
		}
		return err
	}
	row, err := p.differs(from, m.tokens())
	if err != nil {
		return err
	}
	leak := &Leak{Layer: p.names[row.activation], Position: row.position, Between: row.text > 0}
	first := 0
	if !leak.Between {
		first = row.position + 1
	}
	for _, j := range some(first, m.tokens()) {
		seen, err := p.sees(row, j)
		if err != nil {
			return err
		}
		if seen {
			leak.Tokens = append(leak.Tokens, j)
		}
	}
	if len(leak.Tokens) == 0 { // no single token has an effect
		for j := from; j < m.tokens(); j++ {
			leak.Tokens = append(leak.Tokens, j)
		}
	}
	return leak
}

// some returns first … end−1. Of more than 64 it returns the first ones and a sample of the rest, including the last.
func some(first, end int) (list []int) {
	n := end - first
	for i := range min(n, mostTokens) {
		j := first + i
		if half := mostTokens / 2; n > mostTokens && i >= half {
			j = first + half + (i-half)*(n-1-half)/(mostTokens-1-half)
		}
		list = append(list, j)
	}
	return list
}
