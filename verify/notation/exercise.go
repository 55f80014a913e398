package notation

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/exact"
)

// Exercise asks for a formula.
type Exercise struct {
	Name  string
	Text  string // what is asked
	Given []Given
	Where []Definition
	Find  string // what the answer is called, such as Δx

	// The answer is the gradient of Σ Δ ∘ Of at To. Without To it is the value of Of.
	Of Formula
	To string

	Answer Formula // an answer that is right
	Wrong  []Wrong // typical answers that are not
}

// Wrong is a typical wrong answer with what helps to mend it.
type Wrong struct {
	Formula Formula
	Hint    string
}

// points is the number of random points at which an answer is compared.
const points = 100

// ParseExercise reads an exercise from lines "key: value". The keys are name, text, given, where, find, of, to, answer
// and wrong, which has a hint after |. where and wrong may be repeated.
func ParseExercise(text string) (e Exercise, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		if err := e.read(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return e, fmt.Errorf("line %d: %s: %w", i+1, key, err)
		}
	}
	if e.Name == "" || e.Text == "" || e.Find == "" || e.Of.root == nil || e.Answer.root == nil || len(e.Given) == 0 {
		return e, errors.New("want name, text, given, find, of and answer")
	}
	return e, nil
}

func (e *Exercise) read(key, value string) (err error) {
	switch key {
	case "name":
		e.Name = value
	case "text":
		e.Text = value
	case "given":
		e.Given, err = parseGiven(value)
	case "where":
		var d Definition
		d, err = parseDefinition(value)
		e.Where = append(e.Where, d)
	case "find":
		e.Find = value
	case "of":
		e.Of, err = Parse(value)
	case "to":
		e.To = value
	case "answer":
		e.Answer, err = Parse(value)
	case "wrong":
		formula, hint, ok := strings.Cut(value, "|")
		if !ok {
			return errors.New("want a hint after |")
		}
		w := Wrong{Hint: strings.TrimSpace(hint)}
		w.Formula, err = Parse(formula)
		e.Wrong = append(e.Wrong, w)
	default:
		err = errors.New("want one of name, text, given, where, find, of, to, answer, wrong")
	}
	return err
}

// Verdict says whether an answer is right.
type Verdict struct {
	Right bool
	// Message says in one or two sentences what is wrong: what the formula lacks, or the first entry that differs. Hint
	// helps to mend it; it is empty if the kind of mistake is not known.
	Message, Hint string
	MathML        string // of the answer, if it is a formula
}

// at returns the point of a seed with all definitions.
func (e Exercise) at(seed uint64) (*point, error) {
	p, err := newPoint(e.Given, seed)
	if err != nil {
		return nil, err
	}
	return p, e.define(p)
}

func (e Exercise) define(p *point) error {
	for _, d := range e.Where {
		if err := p.define(d); err != nil {
			return err
		}
	}
	return nil
}

// Mark compares an answer with the derivative of the definitions at 100 random points.
func (e Exercise) Mark(answer string) (v Verdict) {
	f, err := Parse(answer)
	if err != nil {
		v.Message = "This is not a formula: " + err.Error() + "."
		return v
	}
	v.MathML = f.MathML()
	if name := forbidden(f.root); name != "" {
		v.Message = fmt.Sprintf("The answer may not name the differential %s.", name)
		return v
	}
	v = e.compare(f.root.value, v)
	for _, w := range e.Wrong { // one that has no value, too
		if !v.Right && v.Hint == "" && text(w.Formula.root) == text(f.root) {
			v.Hint = w.Hint
		}
	}
	return v
}

// MarkFunc compares the result of a function of all matrices that are given or defined, by their names.
func (e Exercise) MarkFunc(f func(named map[string]hand.Matrix[complex128]) hand.Matrix[complex128]) Verdict {
	if f == nil {
		return Verdict{Message: "There is no function."}
	}
	return e.compare(func(p *point) matrix { return f(maps.Clone(p.values)) }, Verdict{})
}

// compare compares an answer at 100 random points.
func (e Exercise) compare(answer func(p *point) matrix, v Verdict) Verdict {
	if e.Of.root == nil || len(e.Given) == 0 {
		v.Message = "There is no exercise: want one from ParseExercise."
		return v
	}
	for seed := range uint64(points) {
		p, err := e.at(seed)
		if err != nil {
			v.Message = "The exercise has an error: " + err.Error() + "."
			return v
		}
		got := answer(p)
		if got.Err != nil {
			v.Message = "The formula has no value: " + got.Err.Error() + "."
			return v
		}
		if right, err := e.agrees(p, got, seed); err != nil || right {
			if err == nil {
				continue
			}
			v.Message = "The exercise has an error: " + err.Error() + "."
			return v
		}
		return e.explain(p, got, v)
	}
	v.Right, v.Message = true, fmt.Sprintf("Right: equal without rounding at %d random points.", points)
	return v
}

// agrees reports whether got is the answer at a point. For a gradient it compares Σ got ∘ v with the derivative along a
// random direction v, which needs one evaluation.
func (e Exercise) agrees(p *point, got matrix, seed uint64) (bool, error) {
	if e.To == "" {
		want := e.Of.root.value(p)
		if want.Err != nil {
			return false, want.Err
		}
		if got.Rows != want.Rows || got.Cols != want.Cols {
			return false, nil
		}
		at, _, _, err := p.difference(got, want)
		return at < 0, err
	}
	x := p.values[e.To]
	if got.Rows != x.Rows || got.Cols != x.Cols {
		return false, x.Err
	}
	random := rand.New(rand.NewPCG(seed, 2))
	direction := make([]exact.Element, x.Rows*x.Cols)
	for i := range direction {
		direction[i] = exact.Element(random.Uint64N(exact.P))
	}
	slope, err := e.slope(p, func(i int) (exact.Element, float64) { return direction[i], 0 })
	if err != nil {
		return false, err
	}
	entries, err := got.Exact(p.draw)
	if err != nil {
		return false, err
	}
	var sum exact.Number
	for i, a := range entries {
		sum = p.draw.Add(sum, p.draw.Mul(a, exact.Number{Value: direction[i]}))
	}
	return sum.Value == slope.Value, nil
}

// slope returns the derivative of Σ Δ ∘ Of along a direction of To.
func (e Exercise) slope(p *point, along func(i int) (exact.Element, float64)) (s exact.Number, err error) {
	q, err := p.moved(e.To, along)
	if err != nil {
		return s, err
	}
	if err := e.define(q); err != nil {
		return s, err
	}
	y := e.Of.root.value(q)
	if delta, ok := q.values["Δ"]; ok {
		y = y.Mul(delta)
	}
	entries, err := y.SumTokens().Sum().Exact(p.draw)
	if err != nil {
		return s, err
	}
	return entries[0].Derivative(), nil
}

// truth returns the answer at a point, computed from the definitions: a gradient by its entries, one after the other.
func (e Exercise) truth(p *point) (matrix, error) {
	if e.To == "" {
		v := e.Of.root.value(p)
		return v, v.Err
	}
	x := p.values[e.To]
	entries := make([]exact.Number, x.Rows*x.Cols)
	for i := range entries {
		var err error
		entries[i], err = e.slope(p, func(j int) (exact.Element, float64) {
			if i == j {
				return 1, 1
			}
			return 0, 0
		})
		if err != nil {
			return matrix{}, err
		}
	}
	return newExact(p, x.Rows, x.Cols, entries), nil
}
