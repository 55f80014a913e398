package flagtest

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
)

// Help fails unless -help has at most 60 lines, every help at most 80 columns, and each flag is under one topic. It
// compares the flags with those that program.Sisters lists.
func (p Program) Help(t *testing.T) {
	t.Helper()
	front, all := p.help(t, ""), p.help(t, "all")
	if n := strings.Count(front, "\n"); n > 60 || n < 4 {
		t.Errorf("%s -help: got %d lines, want at most 60", p.Name, n)
	}
	for line := range strings.Lines(front + all) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 || strings.Contains(line, "\t") {
			t.Errorf("%s -help: got %d columns, want at most 80: %s", p.Name, n, line)
		}
	}
	topics := map[string][]string{}
	word := regexp.MustCompile(`(?m)^(\w+)(?:: .*)?$`)
	for _, m := range word.FindAllStringSubmatch(all, -1) {
		for _, f := range regexp.MustCompile(`(?m)^  -(\S+)`).FindAllStringSubmatch(p.help(t, m[1]), -1) {
			topics[f[1]] = append(topics[f[1]], m[1])
		}
	}
	var own []string
	config := program.Flags("", io.Discard)
	new(gpt.Config).Flags(config.FlagSet)
	for _, f := range p.flags(t) {
		if len(topics[f.name]) != 1 {
			t.Errorf("%s: -%s is under the topics %q, want one", p.Name, f.name, topics[f.name])
		}
		if config.Lookup(f.name) == nil {
			own = append(own, f.name)
		}
	}
	sisters := program.Sisters()
	i := slices.IndexFunc(sisters, func(s [2]string) bool { return s[0] == p.Name })
	if i < 0 {
		t.Errorf("program.Sisters lacks %s; want {%[1]q, %q}", p.Name, strings.Join(own, " "))
	} else if listed := strings.Fields(sisters[i][1]); !slices.Equal(slices.Sorted(slices.Values(listed)),
		slices.Sorted(slices.Values(own))) {
		t.Errorf("program.Sisters: %s: got %q, want %q", p.Name, sisters[i][1], strings.Join(own, " "))
	}
}

// Mistakes fails unless each mistake, the arguments of the program, is answered by an error that contains the text.
func (p Program) Mistakes(t *testing.T, answers [][2]string) {
	t.Helper()
	for _, a := range answers {
		if err := p.Run(t.Context(), strings.Fields(a[0]), io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), a[1]) {
			t.Errorf("%s: got %v, want %q in it", a[0], err, a[1])
		}
	}
}
