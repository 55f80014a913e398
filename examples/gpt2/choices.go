package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pkg/errors"
)

// choicesFlags adds the flags of the command choices.
func (o *options) choicesFlags(fs *program.FlagSet) {
	o.modelFlags(fs, true)
	o.dataFlag(fs, "JSON lines of multiple-choice questions, of which the model takes the likeliest choice: "+
		`{"prompt": "…", "choices": ["…", "…"], "answer": 0}`)
	fs.Group("measuring", "how it is measured", func(fs *flag.FlagSet) {
		o.blockFlag(fs)
		o.weightsFlag(fs)
	})
}

// choose prints the share of questions of which the model finds the right choice the likeliest: as a whole, per token
// and per byte.
func choose(ctx context.Context, o options, m *gpt.Model, tok text.Tokenizer, stdout, stderr io.Writer) error {
	cp, err := folder.Kind("").Load(o.model, stderr)
	if err != nil {
		return err
	}
	defer cp.Close()
	template, err := published.LoadTemplate(cp)
	if err != nil {
		return err
	}
	questions, err := chat.LoadQuestions(o.data, tok, template)
	if err != nil {
		return err
	}
	longest, chance := 1, 0.0
	for _, q := range questions {
		chance += 1 / float64(len(q.Choices)*len(questions))
		for _, c := range q.Choices {
			longest = max(longest, len(c.Tokens)-1)
		}
	}
	if o.config.BlockSize == 0 && longest < m.Config.BlockSize { // a pass then takes no more tokens than it needs
		o.config.BlockSize = longest
		if m, _, err = o.open(); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s: %s questions; chance is %.3f\n", o.data, program.Thousands(len(questions)), chance)
	if err := score(ctx, m, questions, "", stdout, stderr); err != nil || o.weights == "" {
		return err
	}
	program.Doing(stderr, "packing the weights")
	packed, err := m.Packed(o.weights)
	if err != nil {
		return err
	}
	return score(ctx, packed, questions, fmt.Sprintf("with weights in %s: ", o.weights), stdout, stderr)
}

// score prints the shares of right choices with their standard errors.
func score(
	ctx context.Context, m *gpt.Model, questions []text.Question, kept string, stdout, stderr io.Writer,
) error {
	ranker, err := gpt.NewRanker(m)
	if err != nil {
		return err
	}
	bar := program.NewBar(stderr, "questions", 0, len(questions))
	defer bar.Close()
	var right [3]int
	cut := 0
	for i, q := range questions {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r, err := ranker.Rank(q)
		if err != nil {
			return errors.WithMessagef(err, "question %d", i+1)
		}
		for by, nats := range [][]float64{r.Nats, r.PerToken, r.PerByte} {
			if gpt.Likeliest(nats) == q.Answer {
				right[by]++
			}
		}
		if r.Cut > 0 {
			cut++
		}
		bar.Draw(i+1, fmt.Sprintf("right %.3f", float64(right[0])/float64(i+1)))
	}
	bar.Close()
	share := func(n int) string {
		p := float64(n) / float64(len(questions))
		return fmt.Sprintf("%.3f ± %.3f", p, math.Sqrt(p*(1-p)/float64(len(questions))))
	}
	_, err = fmt.Fprintf(stdout, "%sright %s by likelihood, %s per token, %s per byte\n",
		kept, share(right[0]), share(right[1]), share(right[2]))
	if cut > 0 && err == nil {
		_, err = fmt.Fprintf(stdout, "prompts cut at their beginning to a context of %d tokens: %s\n",
			m.Config.BlockSize, program.Thousands(cut))
	}
	return err
}
