package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// command is a command that a document names.
type command struct {
	document string
	line     int
	text     string // for a shell
}

// read returns the commands of a document in its order: lines of blocks of sh, indented lines of a Go comment, code
// within a line, and indented lines of flags. The first line of flags after a command has flags for all lines of flags
// that follow, each of which is a command.
func read(root, document string) ([]command, error) {
	data, err := file.Read(filepath.Join(root, document), 1<<20)
	if err != nil {
		return nil, err
	}
	shell := regexp.MustCompile(`^([A-Z_]+=\S+ )*(go (run|test|generate|build|vet) [-./]|go mod |\.ci/)`)
	span := regexp.MustCompile("`([^`]+)`")
	var list []command
	add := func(line int, text string) bool {
		found := shell.MatchString(text)
		if found {
			list = append(list, command{document, line + 1, text})
		}
		return found
	}
	inBlock, shared := false, ""
	for i, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			inBlock = line == "```sh"
		case inBlock, strings.HasPrefix(line, "//\t"):
			text, _, _ := strings.Cut(strings.TrimPrefix(line, "//"), " #")
			add(i, strings.TrimSpace(text))
		case strings.HasPrefix(line, "    -") && len(list) > 0:
			if flags := strings.TrimSpace(line); shared == "" {
				shared = list[len(list)-1].text + " " + flags
			} else {
				add(i, shared+" "+flags)
			}
		default:
			for _, m := range span.FindAllStringSubmatch(line, -1) {
				add(i, m[1])
			}
		}
	}
	return list, nil
}

// value replaces a name that stands for a user's file or number. The name may begin with the flag.
type value struct{ name, text string }

// fill replaces names by their values, in the order of the values.
func (c command) fill(values []value) string {
	text := strings.ReplaceAll(c.text, "; …", "") // and more arms
	for _, v := range values {
		text = v.fill(text)
	}
	return text
}

// fill replaces the name where it is a word of the text, or an element of a path or of a list.
func (v value) fill(text string) string {
	const borders = ` =/,"`
	var filled strings.Builder
	filled.Grow(len(text))
	for {
		before, after, found := strings.Cut(text, v.name)
		filled.WriteString(before)
		if !found {
			return filled.String()
		}
		text = after
		left, right := before == "" || strings.ContainsAny(before[len(before)-1:], borders),
			after == "" || strings.ContainsAny(after[:1], borders)
		if left && right {
			filled.WriteString(v.text)
		} else {
			filled.WriteString(v.name)
		}
	}
}
