package corpus

import "strings"

// choice is an alternative of a category.
type choice struct {
	weight  int
	symbols []string
}

// grammar maps a category to its alternatives; a symbol that is not a category stands for itself. In its text, each
// line has a category and either its alternatives, "3 <adj> <noun> | 1 <noun>", each with a one-digit weight, or words
// of equal weight; then <word>s is <word> with an s. "/" ends a line of verse and "$" the speech; [listener] and
// [phrase] are filled in by the dialogue. Persons, beasts, things and verbs take a plain s, and words that may follow
// "a" begin with a consonant.
//
// No two alternatives of a category can begin with the same word, and none is empty (it is LL(1)), so each choice can
// be read from the word it led to: a text has one derivation, and its probability is the product of the choices in it.
type grammar map[string][]choice

// read returns the grammar of a text; a line that begins with spaces continues the one before.
func read(text string) grammar {
	g := make(grammar)
	for line := range strings.Lines(strings.ReplaceAll(text, "\n            ", " ")) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		category, words := fields[0], fields[1:]
		if words[0] >= "0" && words[0] <= "9" {
			for a := range strings.SplitSeq(strings.Join(words, " "), "|") {
				symbols := strings.Fields(a)
				g[category] = append(g[category], choice{weight: int(symbols[0][0] - '0'), symbols: symbols[1:]})
			}
			continue
		}
		for _, word := range words {
			g[category] = append(g[category], choice{1, []string{word}})
			g[category+"s"] = append(g[category+"s"], choice{1, []string{word + "s"}})
		}
	}
	return g
}
