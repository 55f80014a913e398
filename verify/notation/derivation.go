package notation

import (
	"fmt"
	"strings"
)

// Derivation is a list of definitions and of equalities, each of which is executed.
type Derivation struct {
	given []Given
	Lines []Line
}

// Line is a definition, which has a Name, or an equality of Left and Right. If Continues is set, the text of the line
// begins with =, and Left is the right side of the line before.
type Line struct {
	Name        string
	Left, Right Formula
	Continues   bool
	Reason      string
}

// ParseDerivation reads a derivation. Its first lines begin with "given" and declare matrices. Every other line is a
// definition, name := formula, an equality, formula = formula, or goes on from the line before, = formula. A reason may
// follow after |.
func ParseDerivation(text string) (d Derivation, err error) {
	for i, line := range strings.Split(text, "\n") {
		if err := d.read(strings.TrimSpace(line)); err != nil {
			return d, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	if len(d.Lines) == 0 {
		return d, fmt.Errorf("got no lines, want at least one equality")
	}
	return d, nil
}

func (d *Derivation) read(text string) (err error) {
	text, reason, _ := strings.Cut(text, "|")
	text = strings.TrimSpace(text)
	line := Line{Reason: strings.TrimSpace(reason)}
	if text == "" {
		return nil
	}
	if given, ok := strings.CutPrefix(text, "given "); ok {
		list, err := parseGiven(given)
		d.given = append(d.given, list...)
		return err
	}
	if strings.Contains(text, ":=") {
		definition, err := parseDefinition(text)
		line.Name, line.Right = definition.Name, definition.Formula
		d.Lines = append(d.Lines, line)
		return err
	}
	left, right, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		return fmt.Errorf("got %q, want a definition with := or an equality with =", text)
	case strings.TrimSpace(left) != "":
		line.Left, err = Parse(left)
	case len(d.Lines) == 0:
		err = fmt.Errorf("got %q, want a formula on the left of the first line", text)
	default:
		line.Left, line.Continues = d.Lines[len(d.Lines)-1].Right, true
	}
	if err != nil {
		return err
	}
	line.Right, err = Parse(right)
	d.Lines = append(d.Lines, line)
	return err
}

// mostPoints is the largest number of points.
const mostPoints = 1000

// Check executes the derivation at the given number of random points. It returns an error for the first line that does
// not hold, with the entry in which its sides differ. A wrong line passes with a probability of less than 10⁻¹⁵ at each
// point.
func (d Derivation) Check(points int) error {
	if points < 1 || points > mostPoints {
		return fmt.Errorf("points: got %d, want 1 to %d", points, mostPoints)
	}
	for seed := range uint64(points) {
		p, err := newPoint(d.given, seed)
		if err != nil {
			return err
		}
		if p, err = p.moving(d.given, seed); err != nil {
			return err
		}
		for _, line := range d.Lines {
			if err := line.check(p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l Line) check(p *point) error {
	if l.Name != "" {
		return p.define(Definition{l.Name, l.Right})
	}
	at, got, want, err := p.difference(l.Left.root.value(p), l.Right.root.value(p))
	if err == nil && at >= 0 {
		err = fmt.Errorf("entry %d is %.4g on the left and %.4g on the right", at, got.Real, want.Real)
	}
	if err != nil {
		return fmt.Errorf("%s = %s: %w", strings.TrimSpace(l.Left.Text), strings.TrimSpace(l.Right.Text), err)
	}
	return nil
}
