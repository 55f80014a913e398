package notation

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Given is a matrix that a derivation or an exercise begins with. Its numbers are random.
type Given struct {
	Name       string
	Rows, Cols string // a number, a letter, or letters with · between them
	// Positive entries have a logarithm. A fixed matrix, such as one whose name begins with Δ, has no differential.
	positive, fixed bool
}

// parseGiven reads declarations such as "x: n×d; w, b: 1×d; u: n×1 positive".
func parseGiven(text string) (list []Given, err error) {
	for _, part := range strings.Split(text, ";") {
		names, shape, ok := strings.Cut(part, ":")
		fields := strings.Fields(shape)
		if !ok || len(fields) == 0 {
			return nil, fmt.Errorf("given: got %q, want names, a colon and a shape, such as x: n×d",
				strings.TrimSpace(part))
		}
		height, width, ok := strings.Cut(fields[0], "×")
		if !ok {
			return nil, fmt.Errorf("given: got the shape %s, want rows×columns", fields[0])
		}
		for _, name := range strings.Split(names, ",") {
			g := Given{Name: strings.TrimSpace(name), Rows: height, Cols: width}
			g.fixed = strings.HasPrefix(g.Name, "Δ") || slices.Contains(fields[1:], "fixed")
			g.positive = slices.Contains(fields[1:], "positive")
			list = append(list, g)
		}
	}
	return list, nil
}

// sizeOf returns the size that a shape names, and gives letters that have none yet a size.
func (p *point) sizeOf(shape string, draw func(letter string) int) (int, error) {
	product := 1
	for _, factor := range strings.Split(shape, "·") {
		n, err := strconv.Atoi(factor)
		if err != nil {
			known := false
			if n, known = p.sizes[factor]; !known {
				n = draw(factor)
				p.sizes[factor] = n
			}
		}
		if n < 1 || n > 100 {
			return 0, fmt.Errorf("given: got the size %d, want 1 to 100", n)
		}
		product *= n
	}
	return product, nil
}

// newPoint draws sizes and matrices. Letters have different sizes, so that no transposition goes unnoticed. The letter
// e is the width of a head, by whose root scores are divided. It is 4 or 9, because half of the field has no root.
func newPoint(given []Given, seed uint64) (*point, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	p := &point{draw: exact.NewDraw(seed), sizes: map[string]int{}, values: map[string]matrix{}}
	free := []int{3, 5, 7, 6, 2, 8, 10, 11}
	random.Shuffle(3, func(i, j int) { free[i], free[j] = free[j], free[i] })
	next := func(letter string) (n int) {
		if letter == "e" {
			return []int{4, 9}[random.IntN(2)]
		}
		if len(free) == 0 {
			return 1
		}
		n, free = free[0], free[1:]
		return n
	}
	for _, g := range given {
		height, err := p.sizeOf(g.Rows, next)
		if err != nil {
			return nil, err
		}
		width, err := p.sizeOf(g.Cols, next)
		if err != nil {
			return nil, err
		}
		entries := make([]exact.Number, height*width)
		for i := range entries {
			real := random.NormFloat64()
			if g.positive {
				real = math.Abs(real) + 0.1
			}
			entries[i] = p.draw.Variable(real)
		}
		p.values[g.Name] = hand.NewExact[complex128](p.draw, height, width, entries)
	}
	return p, nil
}

// moved returns the point with the given tangents of a matrix, entry by entry.
func (p *point) moved(name string, along func(i int) (tangent exact.Element, rate float64)) (*point, error) {
	x := p.values[name]
	entries, err := x.Exact(p.draw)
	if err != nil {
		return nil, err
	}
	list := make([]exact.Number, len(entries))
	for i, a := range entries {
		tangent, rate := along(i)
		list[i] = a.Along(tangent, rate)
	}
	q := &point{draw: p.draw, sizes: p.sizes, values: maps.Clone(p.values)}
	q.values[name] = hand.NewExact[complex128](p.draw, x.Rows, x.Cols, list)
	return q, nil
}

// moving returns the point at which every given matrix changes in a random direction, except those that are fixed.
func (p *point) moving(given []Given, seed uint64) (q *point, err error) {
	random := rand.New(rand.NewPCG(seed, 1))
	q = p
	for _, g := range given {
		if g.fixed {
			continue
		}
		q, err = q.moved(g.Name, func(int) (exact.Element, float64) {
			rate := random.NormFloat64()
			return exact.Element(random.Uint64N(exact.P)), rate
		})
		if err != nil {
			return nil, err
		}
	}
	return q, nil
}

// define adds a name for the value of a formula.
func (p *point) define(d Definition) error {
	v := d.Formula.root.value(p)
	if v.Err != nil {
		return fmt.Errorf("%s := %s: %w", d.Name, d.Formula.Text, v.Err)
	}
	p.values[d.Name] = v
	return nil
}

// Definition is a name for the value of a formula.
type Definition struct {
	Name    string
	Formula Formula
}

// parseDefinition reads a line such as "σ := sqrt(mean(c∘c))".
func parseDefinition(line string) (d Definition, err error) {
	left, right, ok := strings.Cut(line, ":=")
	if !ok {
		return d, fmt.Errorf("got %q, want a name, := and a formula", line)
	}
	d.Name = strings.TrimSpace(left)
	if d.Formula, err = Parse(strings.TrimSpace(right)); err != nil {
		return d, fmt.Errorf("%s: %w", line, err)
	}
	return d, nil
}

// difference returns the first entry in which x and y differ, or −1 if there is none.
func (p *point) difference(x, y matrix) (entry int, a, b exact.Number, err error) {
	xs, err := x.Exact(p.draw)
	if err != nil {
		return 0, a, b, err
	}
	ys, err := y.Exact(p.draw)
	if err != nil {
		return 0, a, b, err
	}
	if x.Rows != y.Rows || x.Cols != y.Cols {
		return 0, a, b, fmt.Errorf("the left side is (%d, %d) and the right side (%d, %d)", x.Rows, x.Cols, y.Rows,
			y.Cols)
	}
	for i := range xs {
		if xs[i].Value != ys[i].Value {
			return i, xs[i], ys[i], nil
		}
	}
	return -1, a, b, nil
}
