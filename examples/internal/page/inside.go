package page

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// Inside is a page about the inside of a model on a text. Empty fields are not shown.
type Inside struct {
	Title, About string
	Tokens       []string
	Losses       []float64 // nats for the next token, at every token but the last
	Blocks       []string  // the columns of Lens
	Lens         [][]Guess // for every token, after every block
	Layers       []Layer
	States       []State // of every head of a recurrence
	Sum          *Sum
}

// Guess is the token held likeliest to come next, and its probability.
type Guess struct {
	Token string
	P     float64
	Right bool // it is the next token
}

// Write writes the page.
func (p Inside) Write(w io.Writer) error {
	return write(w, p.Title, "inside.html", p, "page.js", "heat.js", "inside.js")
}

// Seen returns a token of the text as it is shown in little space.
func (p Inside) Seen(token int) string { return Seen(p.Tokens[token]) }

// Short returns any other token as it is shown in little space.
func (p Inside) Short(token string) string { return Seen(token) }

// Loss returns two cells with the loss after a token, as a number and as a bar; they are empty after the last token.
func (p Inside) Loss(token int) template.HTML {
	if token >= len(p.Losses) {
		return `<td></td><td></td>`
	}
	loss, share := program.Round(p.Losses[token], 2), 0.0
	if most := slices.Max(p.Losses); most > 0 {
		share = loss / most
	}
	const cells = `<td class="number">%.2f</td><td class="bar"><i style="--share:%.3f"></i></td>`
	return template.HTML(fmt.Sprintf(cells, loss, share))
}
