package main

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	span = regexp.MustCompile("`[^`]+`")
	word = regexp.MustCompile(`[\w*]+(\.[\w*]+)*`)
)

// unmentioned returns the names among gone that no code span of the changelog mentions. A member of a type is mentioned
// with its type, as `Type.Member` or `package.Type.Member`, or by its type if that is gone too, and any name by
// its folder if nothing is left there. A mention may contain an asterisk for any letters.
func unmentioned(changelog string, gone, names []string) (list []string) {
	mentions := map[string]bool{}
	for _, s := range span.FindAllString(changelog, -1) {
		mentions[strings.Trim(s, "`")] = true
		for _, w := range word.FindAllString(s, -1) {
			mentions[w] = true
		}
	}
	patterns := slices.DeleteFunc(slices.Collect(maps.Keys(mentions)), func(m string) bool {
		return !strings.Contains(m, "*")
	})
	mentioned := func(name string) bool {
		return mentions[name] || slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, name)
			return ok && err == nil
		})
	}
	for _, entry := range gone {
		folder, name, _ := strings.Cut(entry, " ")
		candidates := []string{name, path.Base(folder) + "." + name}
		if of, _, member := strings.Cut(name, "."); member && !slices.Contains(names, folder+" "+of) {
			candidates = append(candidates, of, path.Base(folder)+"."+of)
		}
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, folder+" ") }) {
			candidates = append(candidates, folder)
		}
		if !slices.ContainsFunc(candidates, mentioned) {
			list = append(list, entry)
		}
	}
	return list
}
