package main

import (
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// corpus holds texts and their translations. Some of them are held out and never seen in training.
type corpus struct {
	name           string
	texts          func(i int) (source, target string)
	train, held    []int // indices of texts; a repeated index is seen more often
	source, target *seq2seq.Vocabulary
	longest        [2]int // source and target in tokens, without the target's end
}

// open returns the texts of a run. If the run is resumed, other texts are an error.
func open(o *options) (c *corpus, err error) {
	var data []byte
	if o.SHA256 = ""; o.Data != "" {
		if data, err = file.ReadText(o.Data, text.MaxBytes); err != nil {
			return nil, errors.Wrap(err, "-data")
		}
		o.SHA256 = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	if o.was != nil {
		if err := o.same(*o.was); err != nil {
			return nil, err
		}
	}
	if c = numbers(o.Below); o.Data != "" {
		if c, err = parallel(o.Data, data); err != nil {
			return nil, err
		}
	}
	return c, c.prepare(o.pairing)
}

// numbers returns the numbers from 0 to below−1. Numbers of three digits are few, so each is listed fifty times.
func numbers(below int) *corpus {
	c := &corpus{name: "numbers", texts: func(n int) (string, string) { return English(n), Italian(n) }}
	for n := range below {
		times := 1
		if n < 1000 && below > 1000 {
			times = 50
		}
		c.train = append(c.train, slices.Repeat([]int{n}, times)...)
	}
	return c
}

// parallel reads a text with a source, a tab and its translation in each line. Empty lines are skipped.
func parallel(path string, data []byte) (*corpus, error) {
	var pairs [][2]string
	for i, line := range strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		n := i + 1
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			continue
		}
		columns := strings.Split(line, "\t")
		switch {
		case !utf8.ValidString(line):
			return nil, errors.Errorf("-data: %s:%d: not valid UTF-8", path, n)
		case len(columns) != 2:
			return nil, errors.Errorf("-data: %s:%d: got %d columns, want 2 with a tab between them", path, n,
				len(columns))
		case strings.TrimSpace(columns[0]) == "" || strings.TrimSpace(columns[1]) == "":
			return nil, errors.Errorf("-data: %s:%d: an empty column", path, n)
		}
		pairs = append(pairs, [2]string{columns[0], columns[1]})
	}
	c := &corpus{name: path, texts: func(i int) (string, string) { return pairs[i][0], pairs[i][1] }}
	for i := range pairs {
		c.train = append(c.train, i)
	}
	return c, nil
}

// prepare builds the vocabularies and holds out a share of the texts. The choice depends only on the source, so that
// equal sources are on the same side.
func (c *corpus) prepare(p pairing) (err error) {
	if c.source, err = seq2seq.NewVocabulary(p.SourceUnit); err != nil {
		return errors.Wrap(err, "-source_unit")
	}
	if c.target, err = seq2seq.NewVocabulary(p.TargetUnit); err != nil {
		return errors.Wrap(err, "-target_unit")
	}
	all := c.train
	c.train = nil
	for i, n := range all {
		if i > 0 && all[i-1] == n { // repeated
			if k := len(c.train); k > 0 && c.train[k-1] == n {
				c.train = append(c.train, n)
			}
			continue
		}
		source, target := c.texts(n)
		for side, v := range []*seq2seq.Vocabulary{c.source, c.target} {
			c.longest[side] = max(c.longest[side], v.Add([]string{source, target}[side]))
		}
		h := fnv.New32a()
		h.Write([]byte(source))
		if float64(h.Sum32())/(1<<32) < p.HeldOut {
			c.held = append(c.held, n)
		} else {
			c.train = append(c.train, n)
		}
	}
	if len(c.train) == 0 || len(c.held) == 0 {
		return errors.Errorf("%s: %d texts to train on and %d held out, at least 1 of each is needed", c.name,
			len(c.train), len(c.held))
	}
	return nil
}

// part is some of the texts, as seq2seq.Pairs.
type part struct {
	*corpus
	texts []int
}

// Len returns their number.
func (p part) Len() int { return len(p.texts) }

// Pair returns the i-th of them as ids.
func (p part) Pair(i int) (seq2seq.Pair, error) { return p.encode(p.texts[i]) }

// half returns every other held-out text, from the first (0) or the second (1) on.
func (c *corpus) half(first int) part {
	p := part{corpus: c}
	for i := first; i < len(c.held); i += 2 {
		p.texts = append(p.texts, c.held[i])
	}
	return p
}

// Len returns the number of texts to train on.
func (c *corpus) Len() int { return len(c.train) }

// Pair returns the i-th text to train on as ids.
func (c *corpus) Pair(i int) (seq2seq.Pair, error) { return c.encode(c.train[i]) }

func (c *corpus) encode(i int) (p seq2seq.Pair, err error) {
	source, target := c.texts(i)
	if p.Source, err = c.source.Encode(source); err != nil {
		return p, err
	}
	p.Target, err = c.target.Encode(target)
	return p, err
}
