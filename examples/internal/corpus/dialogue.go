package corpus

import (
	_ "embed"
	"strings"
)

// cast lists the characters, each with a phrase of theirs.
//
//go:embed cast.txt
var cast string

// dialogue holds the speaker and the listener, who is the previous speaker.
type dialogue struct {
	names             []string
	phrases           map[string]string
	speaker, listener string
}

// newDialogue returns the state before the first speech, as if the first two of the cast had been talking.
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

// choices returns the possible next speakers: the listener answers four times in five, otherwise another one breaks
// in.
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

// name returns the words of a symbol that depends on the speaker: [listener], the name of the one spoken to, or
// [phrase], the speaker's phrase.
func (d *dialogue) name(symbol string) []string {
	if symbol == "[phrase]" {
		return strings.Fields(d.phrases[d.speaker])
	}
	return strings.Fields(d.listener)
}
