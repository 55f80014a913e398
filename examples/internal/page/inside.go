package page

import (
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

// Inside is what goes on in a model on a text. What there is none of is not shown.
type Inside struct {
	Title, About string
	Tokens       []string
	Losses       []float64 // nats for the token that comes, of every token that one follows
	Blocks       []string  // the columns of Lens
	Lens         [][]Guess // of every token, behind every block
	Layers       []Layer
	Sum          *Sum
}

// Guess is what is held likeliest to come, and its probability.
type Guess struct {
	Token string
	P     float64
	Right bool // it is what comes
}

// Write makes the page.
func (p Inside) Write(w io.Writer) error {
	return write(w, p.Title, "inside.html", p, "page.js", "heat.js", "inside.js")
}

// Seen returns a token of the text as it is shown where room is short.
func (p Inside) Seen(token int) string { return Seen(p.Tokens[token]) }

// Short is another token, as it is shown there.
func (p Inside) Short(token string) string { return Seen(token) }

// Loss is two cells with the loss behind a token, its number and its bar; empty behind the last one.
func (p Inside) Loss(token int) template.HTML {
	if token >= len(p.Losses) {
		return `<td></td><td></td>`
	}
	loss := program.Round(p.Losses[token], 2)
	return template.HTML(fmt.Sprintf(`<td class="number">%.2f</td><td class="bar"><i style="--share:%.3f"></i></td>`,
		loss, loss/slices.Max(p.Losses)))
}
