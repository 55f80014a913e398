package main

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// known holds words that identify the text of a licence, and its name.
var known = []struct{ words, name string }{
	{"Creative Commons Attribution 4.0", "CC BY 4.0"},
	{"FreeType Project LICENSE", "FTL"},
	{"SIL OPEN FONT LICENSE", "OFL 1.1"},
	{"Boost Software License", "BSL 1.0"},
	{"Apache License", "Apache 2.0"},
	{"free of charge, to any person obtaining a copy of this software and associated documentation", "MIT"},
	{"Redistribution and use in source and binary forms", "BSD"},
}

// attribution returns the attribution of a module whose licence requires one and whose files do not state it in a line
// of copyright.
func attribution(path string) string {
	return map[string]string{
		"github.com/ajstarks/svgo": "SVGo by Anthony Starks, https://github.com/ajstarks/svgo, unchanged, licensed " +
			"under CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
		"github.com/golang/freetype": "Freetype-Go, by its authors. Portions of this software are copyright © " +
			"1996-2002, 2006 The FreeType Project (www.freetype.org). All rights reserved. Based in part on the work " +
			"of the FreeType Team.",
	}[path]
}

var copyright = regexp.MustCompile(`(?im)^[ \t*/]*((digitized data )?copyright\b.*\d{4}.*)$`)

const head = `NOTICE

Pedestrian is under the MIT License (LICENSE). Its packages and programs link the modules below, under their own
licences. Who passes on a program in binary form adds the texts of these and their lines of copyright, as

	go run ./verify/internal/notice texts > LICENCES

writes them. This list is written by

	go run ./verify/internal/notice > NOTICE

`

// write writes the notice of the module whose sources lie in root, with the lines of copyright and the texts of the
// licences, each once, if texts is true.
func write(w io.Writer, root string, texts bool) error {
	list, err := modules(root)
	if err != nil {
		return err
	}
	var table, full strings.Builder
	seen := map[string]bool{}
	for _, m := range list {
		files, err := m.licences()
		if err != nil {
			return err
		}
		names, owners := describe(files)
		if len(names) == 0 {
			return fmt.Errorf("%s %s: got %d files without a known licence, want at least one",
				m.Path, m.Version, len(files))
		}
		fmt.Fprintf(&table, "%s: %s\n", strings.TrimSpace(m.Path+" "+m.Version), strings.Join(names, ", "))
		if !texts {
			owners = nil
		}
		if text := attribution(m.Path); text != "" {
			owners = append([]string{text}, owners...)
		}
		for _, owner := range owners {
			fmt.Fprintf(&table, "\t%s\n", owner)
		}
		for _, f := range files {
			if text := strings.Trim(f.text, "\n"); !seen[text] {
				seen[text] = true
				fmt.Fprintf(&full, "\n%s\n%s: %s\n%[1]s\n\n%[4]s\n", strings.Repeat("=", 100), m.Path, f.name, text)
			}
		}
	}
	text := head + table.String()
	if texts {
		text += "\nThe texts of the licences, each once.\n" + full.String()
	}
	_, err = io.WriteString(w, text)
	return err
}

// describe returns the names of the licences that the files state, and their lines of copyright.
func describe(files []licence) (names, owners []string) {
	for _, f := range files {
		text := strings.Join(strings.Fields(f.text), " ")
		for _, k := range known {
			if strings.Contains(text, k.words) && !slices.Contains(names, k.name) {
				names = append(names, k.name)
			}
		}
		for _, line := range copyright.FindAllStringSubmatch(f.text, -1) {
			owner := strings.TrimRight(strings.Join(strings.Fields(line[1]), " "), " *")
			if !strings.Contains(owner, "[yyyy]") && !slices.Contains(owners, owner) {
				owners = append(owners, owner)
			}
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(a, b) })
	return names, owners
}
