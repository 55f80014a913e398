package text

import "strings"

// format is a file format of texts. It applies to all files whose names have the ending.
type format struct {
	ending string
	text   func(data string) (string, error)
}

// formats returns the formats that ReadCorpus supports. The first one also applies to all other names.
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
