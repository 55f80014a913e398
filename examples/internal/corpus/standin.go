package corpus

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"strings"
)

// The stand-in that [Open] returns.
const (
	standinSeed = 1
	standinSize = 1_000_000
)

// speeches is the grammar of the text.
//
//go:embed speech.txt
var speeches string

// Standin generates a dialogue of about size characters, the same for the same seed on every machine: speeches in the
// layout of tinyshakespeare, drawn from a grammar. It ends with the first speech that reaches size.
//
// floor is the code length of this text in nats per character, −Σ log p over the choices that produced it. The text
// determines the choices, so exp(−floor·len) is exactly the probability of the text under its own source, and no model
// has in expectation a smaller loss over such text. A model that sees only a few lines stays somewhat above, because
// the speaker and the listener follow from earlier speeches.
func Standin(seed uint64, size int) (text string, floor float64) {
	w := writer{grammar: read(speeches), turns: newDialogue(), rng: rand.New(rand.NewPCG(seed, 0))}
	w.text.Grow(size + 1000)
	for w.text.Len() < size {
		w.speech()
	}
	text = w.text.String()
	return text, w.nats / float64(len(text)) // the text is ASCII
}

// writer writes a text and sums the code length of its choices.
type writer struct {
	grammar
	turns dialogue
	rng   *rand.Rand
	text  strings.Builder
	nats  float64
	glue  string // written before the next word
}

// speech writes the speaker's name, the verses and the separator from the next speech.
func (w *writer) speech() {
	if w.text.Len() > 0 {
		w.text.WriteString("\n")
	}
	w.turns.next(w.choose(w.turns.choices()).symbols[0])
	w.text.WriteString(w.turns.speaker + ":\n")
	w.glue = ""
	w.expand("<speech>")
}

// expand writes the words that symbol stands for.
func (w *writer) expand(symbol string) {
	switch alternatives, ok := w.grammar[symbol]; {
	case ok:
		for _, s := range w.choose(alternatives).symbols {
			w.expand(s)
		}
	case strings.HasPrefix(symbol, "["):
		for _, s := range w.turns.name(symbol) {
			w.word(s)
		}
	default:
		w.word(symbol)
	}
}

// word writes a word or a mark; a verse begins with a capital letter.
func (w *writer) word(s string) {
	switch s {
	case "/", "$":
		w.text.WriteString("\n")
		w.glue = ""
		return
	case ".", ",", ";", ":", "!", "?":
		w.text.WriteString(s)
		return
	}
	if w.glue == "" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	w.text.WriteString(w.glue + s)
	w.glue = " "
}

// choose draws an alternative in proportion to its weight and adds its code length, −log p. The draw uses integers,
// hence it is the same on every machine.
func (w *writer) choose(alternatives []choice) choice {
	total := 0
	for _, c := range alternatives {
		total += c.weight
	}
	k := w.rng.IntN(total)
	i := 0
	for ; k >= alternatives[i].weight; i++ {
		k -= alternatives[i].weight
	}
	w.nats -= math.Log(float64(alternatives[i].weight) / float64(total))
	return alternatives[i]
}
