package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzPairs checks that no file of pairs makes the reader panic, and that every pair of an accepted file becomes ids
// and the same text again.
func FuzzPairs(f *testing.F) {
	f.Add([]byte("one\tuno\ntwo\tdue\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, words bool) {
		p := pairing{SourceUnit: "characters", TargetUnit: "characters", HeldOut: 0.5}
		if words {
			p.SourceUnit = "words"
		}
		var c *corpus
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() {
			if c, err = parallel("pairs.tsv", data); err == nil {
				err = c.prepare(p)
			}
		})
		if err != nil {
			return
		}
		for _, i := range append(c.train, c.held...) {
			source, target := c.texts(i)
			p, err := c.encode(i)
			if err != nil {
				t.Fatal(err)
			}
			if words {
				source = strings.Join(strings.Fields(source), " ")
			}
			if got := c.source.Decode(p.Source); got != source {
				t.Fatalf("source %d: got %q, want %q", i, got, source)
			}
			if got := c.target.Decode(p.Target); got != target {
				t.Fatalf("target %d: got %q, want %q", i, got, target)
			}
			if len(p.Source) == 0 || len(p.Target) == 0 || len(p.Source) > c.longest[0] ||
				len(p.Target) > c.longest[1] {
				t.Fatalf("pair %d has %d and %d tokens, the longest %v", i, len(p.Source), len(p.Target), c.longest)
			}
		}
	})
}
