package text

import "strings"

// format is a way in which a file holds a text: all files have it whose names end so.
type format struct {
	ending string
	text   func(data string) (string, error)
}

// formats returns those that ReadCorpus knows; the first is also that of every other name.
func formats() []format {
	return []format{
		{".txt", func(data string) (string, error) { return data, nil }},
	}
}

func formatOf(path string) format {
	all := formats()
	for _, f := range all {
		if strings.HasSuffix(path, f.ending) {
			return f
		}
	}
	return all[0]
}
