package program

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/internal/spelling"
	"github.com/pkg/errors"
)

// The form of the help: its columns, the column of the texts beside the flags, and the most lines of a text in -help
// without a topic.
const (
	helpWidth  = 80
	helpColumn = 26
	helpLines  = 3
)

// aboutTopics says what the topics of a configuration are about.
func aboutTopics() map[string]string {
	return map[string]string{
		"network":   "sizes, and the parts of a block beside attention",
		"attention": "attention, its heads, and the options of its kinds",
		"position":  "encodings of positions, and their scaling",
		"experts":   "mixtures of experts in place of an MLP",
		"residual":  "the residual stream",
		"scaling":   "how factors and rates change with the size, such as muP",
		"lora":      "adapters of low rank",
		"training":  "batches, steps, evaluations and files of a run",
		"schedule":  "the learning rate over the steps",
		"optimizer": "the optimizer and its settings",
		"machine":   "threads, kernels, precision and memory",
	}
}

// help prints the flags that are used often and the topics, or one topic or flag, or "all". The error of another word
// suggests the nearest one.
func (fs *FlagSet) help(word string) error {
	word = strings.TrimLeft(word, "-")
	out := fs.Output()
	var flags, topics []string
	for _, t := range fs.topics {
		topics, flags = append(topics, t.name), append(flags, t.flags...)
	}
	i := slices.Index(topics, word)
	switch {
	case word == "":
		fmt.Fprintf(out, "Usage of %s:\n\n", fs.Name())
		if fs.often == nil {
			fs.list(flags, 0)
			return nil
		}
		fs.list(fs.often, helpLines)
		fmt.Fprintf(out, "\n-help TOPIC shows the flags of a topic, -help FLAG a flag, -help all all flags:\n")
		for _, t := range fs.topics {
			fmt.Fprint(out, beside(t.name, t.about, 14, 0))
		}
	case word == "all":
		fmt.Fprintf(out, "Usage of %s:\n", fs.Name())
		for _, t := range fs.topics {
			fmt.Fprintf(out, "\n%s\n", strings.TrimSuffix(t.name+": "+t.about, ": "))
			fs.list(t.flags, 0)
		}
	case i >= 0:
		fmt.Fprintf(out, "%s\n", strings.TrimSuffix(fs.Name()+", "+word+": "+fs.topics[i].about, ": "))
		fs.list(fs.topics[i].flags, 0)
	case slices.Contains(flags, word):
		fs.list([]string{word}, 0)
	default:
		return errors.Errorf("-help: got %q, want all, a flag, or one of %s%s", word, strings.Join(topics, ", "),
			spelling.Hint(word, append(topics, flags...)))
	}
	return nil
}

// list prints flags with their texts, of which at most the given number of lines; 0 means all.
func (fs *FlagSet) list(names []string, lines int) {
	for _, name := range names {
		f := fs.Lookup(name)
		text := f.Usage
		if !slices.Contains([]string{"", "0", "false", "0s", "[]"}, f.DefValue) {
			text += fmt.Sprintf(" (default %s)", strings.ReplaceAll(f.DefValue, "\n", `\n`))
		}
		fmt.Fprint(fs.Output(), beside(strings.TrimSpace("-"+name+" "+kindOf(f)), text, helpColumn, lines))
	}
}

// kindOf returns the kind of a flag's value, or "" for a switch.
func kindOf(f *flag.Flag) string {
	value, ok := f.Value.(flag.Getter)
	if !ok {
		return "value"
	}
	switch value.Get().(type) {
	case bool:
		return ""
	case int, int64:
		return "int"
	case uint, uint64:
		return "uint"
	case float64:
		return "float"
	case time.Duration:
		return "duration"
	case []string:
		return "list"
	}
	return "string"
}

// beside returns a name with a text that begins at the column, broken at spaces. Of more than the given number of lines
// it leaves out the others; 0 means all lines. A name that is too long has a line of its own.
func beside(name, text string, column, most int) string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case utf8.RuneCountInString(*last+" "+word) > helpWidth-column:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	if most > 0 && len(lines) > most {
		last := lines[most-1]
		for utf8.RuneCountInString(last)+2 > helpWidth-column {
			last = last[:strings.LastIndex(last, " ")]
		}
		lines = append(lines[:most-1], last+" …")
	}
	name = "  " + name
	indent := strings.Repeat(" ", column)
	if n := utf8.RuneCountInString(name); n+2 > column {
		name += "\n" + indent
	} else {
		name += indent[n:]
	}
	return strings.TrimRight(name+strings.Join(lines, "\n"+indent), " \n") + "\n"
}
