package notation

import (
	"html"
	"strings"
	"unicode"
)

// writer writes MathML, or the text of a formula where plain is set.
type writer struct {
	strings.Builder
	plain bool
}

// MathML returns the formula as the content of a math element.
func (f Formula) MathML() string {
	w := new(writer)
	if f.root != nil { // Parse has read it
		w.row(f.root)
	}
	return w.String()
}

// text returns a part of a formula as a reader types it.
func text(x node) string {
	w := &writer{plain: true}
	x.math(w)
	return w.String()
}

func (w *writer) element(tag, content string) {
	w.WriteString("<" + tag + ">" + html.EscapeString(content) + "</" + tag + ">")
}

// sign writes an operator.
func (w *writer) sign(s string) {
	if w.plain {
		w.WriteString(s)
		return
	}
	w.element("mo", s)
}

// parentheses writes what stands in parentheses. They are tall only around a fraction or a root.
func (w *writer) parentheses(list ...node) {
	inner := &writer{plain: w.plain}
	for i, x := range list {
		if i > 0 {
			inner.sign(", ")
		}
		x.math(inner)
	}
	content, begin, end := inner.String(), `<mo stretchy="false">(</mo>`, `<mo stretchy="false">)</mo>`
	if tall := strings.Contains(content, "<mfrac>") || strings.Contains(content, "<msqrt>"); tall || w.plain {
		w.sign("(")
		w.WriteString(content)
		w.sign(")")
		return
	}
	w.WriteString(begin + content + end)
}

// around writes an element with the parts in it.
func (w *writer) around(tag string, parts ...func()) {
	w.WriteString("<" + tag + ">")
	for _, part := range parts {
		part()
	}
	w.WriteString("</" + tag + ">")
}

func (w *writer) row(x node) { w.around("mrow", func() { x.math(w) }) }

func (x name) math(w *writer) {
	s := string(x)
	switch runes := []rune(s); {
	case w.plain:
		w.WriteString(s)
	case len(runes) > 1 && (runes[0] == 'd' || runes[0] == 'Δ'):
		w.around("mrow", func() { // dx, Δx
			w.WriteString(`<mi mathvariant="normal">` + string(runes[0]) + "</mi>")
			name(string(runes[1:])).math(w)
		})
	case strings.Contains(s, "_"):
		base, below, _ := strings.Cut(s, "_")
		w.around("msub", func() { name(base).math(w) }, func() { name(below).math(w) })
	case len(runes) > 1 && unicode.IsDigit(runes[len(runes)-1]) && unicode.IsLetter(runes[0]):
		cut := strings.IndexFunc(s, unicode.IsDigit)
		w.around("msub", func() { w.element("mi", s[:cut]) }, func() { w.element("mn", s[cut:]) })
	default:
		w.element("mi", s)
	}
}

func (x constant) math(w *writer) {
	if w.plain {
		w.WriteString(x.text)
		return
	}
	w.element("mn", x.text)
}

func (x group) math(w *writer) {
	w.parentheses(x.x)
}

func (x minus) math(w *writer) {
	w.sign("−")
	x.x.math(w)
}

// raised writes x with an exponent.
func (w *writer) raised(x node, tag, exponent, plain string) {
	if w.plain {
		x.math(w)
		w.WriteString(plain)
		return
	}
	w.around("msup", func() { w.row(x) }, func() { w.element(tag, exponent) })
}

func (x transpose) math(w *writer) { w.raised(x.x, "mi", "t", "ᵗ") }
func (x square) math(w *writer)    { w.raised(x.x, "mn", "2", "²") }

func (x total) math(w *writer) {
	switch {
	case w.plain:
		w.WriteString("Σ" + x.axis + " ")
	case x.axis == everything:
		w.element("mo", "Σ")
	default:
		w.around("msub", func() { w.element("mo", "Σ") }, func() { w.element("mtext", x.axis[1:]) })
	}
	x.x.math(w)
}

// bare returns x without the parentheses around it.
func bare(x node) node {
	if g, ok := x.(group); ok {
		return g.x
	}
	return x
}

func (x binary) math(w *writer) {
	if x.op == '/' && !w.plain {
		w.around("mfrac", func() { w.row(bare(x.left)) }, func() { w.row(bare(x.right)) })
		return
	}
	x.left.math(w)
	if sign := string(x.op); w.plain && (x.op == '+' || x.op == '−') {
		w.sign(" " + sign + " ")
	} else {
		w.sign(sign)
	}
	x.right.math(w)
}

func (x call) math(w *writer) {
	switch {
	case w.plain:
	case x.name == "sqrt":
		w.around("msqrt", func() { x.x[0].math(w) })
		return
	case x.name == "exp":
		w.around("msup", func() { w.element("mi", "e") }, func() { w.row(x.x[0]) })
		return
	case x.name == "d":
		w.WriteString(`<mi mathvariant="normal">d</mi>`)
		group{x.x[0]}.math(w)
		return
	default:
		w.WriteString(`<mi mathvariant="normal">` + x.name + "</mi>")
	}
	if w.plain {
		w.WriteString(x.name)
	}
	w.parentheses(x.x...)
}
