package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pkg/errors"
)

// texts opens the text and the tokenizer.
func (a *audit) texts(ctx context.Context) error {
	var cp *checkpoint.Checkpoint
	if len(a.saved) > 0 {
		cp = a.saved[len(a.saved)-1]
	}
	path := a.data
	if path == "" && cp != nil {
		path = corpus.At(cp)
	}
	if _, err := os.Stat(filepath.Join(path, text.ShardsFile)); path != "" && err == nil {
		shards, err := text.OpenShards(path)
		if err == nil {
			a.corpus, a.tokenizer = shards, shards.Tokenizer
		}
		return err
	}
	var source corpus.Source
	var err error
	if a.data == "" && cp != nil {
		source, err = corpus.Of(ctx, cp, a.stderr)
	} else {
		source, err = corpus.Open(ctx, path, a.stderr)
	}
	if err != nil {
		return err
	}
	if got := source.SHA256(); got != a.Text {
		return errors.Errorf("text: %.80q has sha256 %s, the certificate %.64s; set -data to the text of the run",
			source.Name, got, a.Text)
	}
	if cp != nil {
		a.tokenizer, err = base.Tokenizer(cp)
	} else {
		a.tokenizer, err = a.newTokenizer(source.Text)
	}
	if err != nil {
		return err
	}
	config, err := gpt.ReadConfig(bytes.NewReader(a.Config), gpt.Config{})
	if err != nil {
		return errors.Wrap(err, "config of the certificate")
	}
	a.corpus, err = source.Encode(a.tokenizer, max(1, config.BlockSize))
	return err
}

// newTokenizer returns the tokenizer of a certificate for a text.
func (a *audit) newTokenizer(s string) (text.Tokenizer, error) {
	name := a.Tokenizer.Kind
	kind, err := text.KindOf(name, bpe.Kind())
	if err != nil {
		return nil, err
	}
	if kind.Sized != nil {
		if kind, err = kind.Sized(a.Tokenizer.Size); err != nil {
			return nil, err
		}
	}
	return kind.New(s)
}

// stretch is a number of steps that are done again, from the beginning or from a checkpoint.
type stretch struct {
	from, to int
	saved    *checkpoint.Checkpoint
}

// stretches returns what is done again: the entire run, or as many stretches as -segments says, chosen at random.
func (a *audit) stretches() ([]stretch, error) {
	last := a.Last().Step
	if last == a.From {
		return nil, errors.New("-replay: the certificate has no steps")
	}
	begins := []stretch{{from: 0}}
	for _, cp := range a.saved {
		if l, ok := a.At(cp.Step); ok && l.Weights != "" && cp.Step > 0 {
			begins = append(begins, stretch{from: cp.Step, saved: cp})
		}
	}
	begins = slices.DeleteFunc(begins, func(s stretch) bool { return s.from < a.From || s.from >= last })
	if len(begins) == 0 {
		return nil, errors.Errorf("-replay: the certificate begins after step %d, and no checkpoint from there on is "+
			"at hand", a.From)
	}
	if a.segments == 0 {
		begins[0].to = last
		return begins[:1], nil
	}
	var list []stretch // from each checkpoint to each of the links after it, as far as the next checkpoint
	for i, s := range begins {
		end := last
		if i+1 < len(begins) {
			end = begins[i+1].from
		}
		for _, l := range a.Links {
			if l.Step > s.from && l.Step <= end {
				list = append(list, stretch{s.from, l.Step, s.saved})
			}
		}
	}
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	turn := map[int]int{} // every checkpoint begins one before any of them begins two
	turns := map[stretch]int{}
	for _, s := range list {
		turns[s] = turn[s.from]
		turn[s.from]++
	}
	slices.SortStableFunc(list, func(s, t stretch) int { return turns[s] - turns[t] })
	if len(list) < a.segments {
		fmt.Fprintf(a.stdout, "only %d stretches begin at a checkpoint at hand\n", len(list))
	}
	list = list[:min(len(list), a.segments)]
	slices.SortFunc(list, func(s, t stretch) int { return cmp.Or(s.from-t.from, s.to-t.to) })
	return list, nil
}
