package corpus

import (
	_ "embed"
	"strings"
)

// cast is who speaks, each with a phrase of theirs.
//
//go:embed cast.txt
var cast string

// dialogue is who speaks and to whom: the listener is the one who spoke before.
type dialogue struct {
	names             []string
	phrases           map[string]string
	speaker, listener string
}

// newDialogue returns the state before the first speech: the first two of the cast, as if they had been talking.
func newDialogue() dialogue {
	d := dialogue{phrases: make(map[string]string)}
	for line := range strings.Lines(cast) {
		name, phrase, _ := strings.Cut(line, ": ")
		d.names = append(d.names, name)
		d.phrases[name] = phrase
	}
	d.speaker, d.listener = d.names[0], d.names[1]
	return d
}

// choices is who may speak next: four times in five the listener answers, else one of the others breaks in.
func (d *dialogue) choices() []choice {
	others := len(d.names) - 2
	turns := []choice{{4 * others, []string{d.listener}}}
	for _, name := range d.names {
		if name != d.speaker && name != d.listener {
			turns = append(turns, choice{1, []string{name}})
		}
	}
	return turns
}

// next gives the word to name.
func (d *dialogue) next(name string) { d.speaker, d.listener = name, d.speaker }

// name returns the words of a symbol that depends on who speaks: [listener], the name of the one spoken to, or
// [phrase], the speaker's.
func (d *dialogue) name(symbol string) []string {
	if symbol == "[phrase]" {
		return strings.Fields(d.phrases[d.speaker])
	}
	return strings.Fields(d.listener)
}
