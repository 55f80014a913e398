package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
)

// compare translates the held-out texts greedily and with beams.
func (r report) compare(ctx context.Context) error {
	m := r.trainer.Model
	pairs, sources, err := r.heldOut(r.options.tests)
	if err != nil {
		return err
	}
	var all [2][]search.Hypothesis
	shares := map[string]float64{}
	for i, beams := range []int{1, r.options.beams} {
		w, err := seq2seq.NewTranslator(m, max(1, min(atOnce/beams, len(sources))), beams)
		if err != nil {
			return err
		}
		start, name := time.Now(), "greedy"
		if i == 0 {
			all[i], err = w.Greedy(ctx, sources)
		} else {
			name = fmt.Sprintf("beam-%d", beams)
			var found [][]search.Hypothesis
			found, err = w.Beam(ctx, sources, r.options.rank())
			for _, list := range found {
				all[i] = append(all[i], list[0])
			}
		}
		if err != nil {
			return err
		}
		took, hits := time.Since(start), right(all[i], pairs)
		n := float64(len(pairs))
		shares[name] = float64(hits) / n
		r.Print("%-7s exact match %6.2f%% (%d of %d held-out texts) | mean ln p %.4f | %s, %.2f ms each", name,
			100*float64(hits)/n, hits, len(pairs), meanLogProb(all[i]),
			took.Round(10*time.Millisecond), took.Seconds()*1e3/n)
	}
	r.examples(sources, pairs, all[0], all[1])
	r.Add(shares) // of the held-out texts, at the end of the run
	return nil
}

// averaged translates the held-out texts with the averaged weights of ema, if there are any, and saves them.
func (r report) averaged(ctx context.Context) error {
	c := r.trainer.Model.Config
	if c.EMA == 0 {
		return nil
	}
	files, err := r.trainer.AveragedFiles(r.texts.source, r.texts.target)
	if err != nil {
		return err
	}
	if err := r.alone(averagedDir, files); err != nil {
		return err
	}
	m, err := r.trainer.Averaged()
	if err != nil {
		return err
	}
	hits, total, err := r.greedy(ctx, m, r.options.tests)
	if err != nil {
		return err
	}
	share := float64(hits) / float64(total)
	r.Print("greedy, averaged weights: exact match %6.2f%% (%d of %d held-out texts); saved to %s",
		100*share, hits, total, filepath.Join(c.OutDir, averagedDir))
	r.Add(map[string]float64{"greedy_averaged": share})
	return nil
}

func meanLogProb(list []search.Hypothesis) (mean float64) {
	for _, h := range list {
		mean += h.LogProb / float64(len(list))
	}
	return mean
}

// examples prints some of the texts, first those that greedy or beam search got wrong.
func (r report) examples(sources [][]int, pairs []seq2seq.Pair, greedy, beam []search.Hypothesis) {
	var wrong, good []int
	for i, p := range pairs {
		if slices.Equal(greedy[i].Tokens, p.Target) && slices.Equal(beam[i].Tokens, p.Target) {
			good = append(good, i)
		} else {
			wrong = append(wrong, i)
		}
	}
	spread := func(list []int, n int) (some []int) {
		for i := range min(n, len(list)) {
			some = append(some, list[i*len(list)/min(n, len(list))])
		}
		return some
	}
	for _, i := range append(spread(wrong, 3), spread(good, 5)...) {
		line := fmt.Sprintf("%s → %s", r.texts.source.Decode(sources[i]), r.texts.target.Decode(greedy[i].Tokens))
		if !slices.Equal(greedy[i].Tokens, beam[i].Tokens) {
			line += fmt.Sprintf(" | beam: %s", r.texts.target.Decode(beam[i].Tokens))
		}
		if !slices.Equal(greedy[i].Tokens, pairs[i].Target) || !slices.Equal(beam[i].Tokens, pairs[i].Target) {
			line += fmt.Sprintf(" | right: %s", r.texts.target.Decode(pairs[i].Target))
		}
		r.Print("  %s", line)
	}
}

// show prints the greedy translation of one text, and the best ones of a beam search, with their probabilities.
func show(
	ctx context.Context, m *seq2seq.Model, target *seq2seq.Vocabulary, source []int, o options, stdout io.Writer,
) error {
	w, err := seq2seq.NewTranslator(m, 1, o.beams)
	if err != nil {
		return err
	}
	greedy, err := w.Greedy(ctx, [][]int{source})
	if err != nil {
		return err
	}
	beam, err := w.Beam(ctx, [][]int{source}, o.rank())
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", target.Decode(greedy[0].Tokens))
	for _, h := range beam[0] {
		text := target.Decode(h.Tokens)
		if !h.Ended { // the search found the best one earlier
			text += " …"
		}
		fmt.Fprintf(stdout, "  p = %.2g  %s\n", math.Exp(h.LogProb), text)
	}
	return nil
}
