package preference

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// answer is an answer of the model to a prompt.
type answer struct {
	text.Choice
	said      string
	ended     bool // by a stop token
	reward    float64
	advantage float64
	old       []float64 // ln π of the tokens of the row when they were drawn; nil if a round has one step
	reference []float64 // the same before the tuning; nil without a penalty
}

// ask returns Size answers to each prompt, with their rewards and advantages.
func (g *GRPO) ask(ctx context.Context, prompts []text.Prompt, seeds *rand.Rand) (list []answer, err error) {
	rows := g.Config().BatchSize
	for i := range len(prompts) * g.group.Size {
		p := prompts[i/g.group.Size]
		list = append(list, answer{Choice: text.Choice{Tokens: slices.Clone(p.Tokens), First: len(p.Tokens)}})
	}
	for from := 0; from < len(list); from += rows {
		if err := g.write(ctx, list[from:min(from+rows, len(list))], seeds); err != nil {
			return nil, err
		}
	}
	for i := range list {
		a, p := &list[i], prompts[i/g.group.Size]
		if a.reward, err = g.group.Score(p, a.said); err == nil && math.IsNaN(a.reward-a.reward) {
			err = errors.Errorf("got %v, want a finite reward", a.reward)
		}
		if err != nil {
			return nil, errors.WithMessagef(err, "score of %.64q", a.said)
		}
	}
	for group := range slices.Chunk(list, g.group.Size) {
		advantages(group)
	}
	return list, nil
}

// advantages sets the advantages of the answers to a prompt.
func advantages(group []answer) {
	var mean, variance float64
	for _, a := range group {
		mean += a.reward / float64(len(group))
	}
	for _, a := range group {
		variance += (a.reward - mean) * (a.reward - mean) / float64(len(group))
	}
	for i := range group {
		if a := &group[i]; variance > 0 {
			a.advantage = (a.reward - mean) / math.Sqrt(variance)
		}
	}
}

// write lets the model write answers, as many as its batch has rows or fewer.
func (g *GRPO) write(ctx context.Context, list []answer, seeds *rand.Rand) error {
	rows := g.Config().BatchSize
	prompts, samplers, said := make([][]int, rows), make([]*search.Sampler, rows), make([][]int, len(list))
	for b := range rows { // the rows that are left repeat the first prompt
		prompts[b] = list[0].Tokens
		if b < len(list) {
			prompts[b] = list[b].Tokens
		}
		samplers[b] = search.NewSampler(seeds.Uint64())
	}
	open := len(list)
	for token, err := range g.writer.Generate(ctx, prompts, g.group.Length, samplers) {
		if err != nil {
			return err
		}
		b := token.Row
		if b >= len(list) || list[b].ended {
			continue
		}
		list[b].Tokens = append(list[b].Tokens, token.ID)
		if list[b].ended = slices.Contains(g.group.Stop, token.ID); !list[b].ended {
			said[b] = append(said[b], token.ID)
		} else if open--; open == 0 {
			break
		}
	}
	for b, ids := range said {
		var err error
		if list[b].said, err = g.tok.Decode(ids); err != nil {
			return err
		}
	}
	return nil
}

// remember sets the logarithms of the probabilities that the objective compares with.
func (g *GRPO) remember(ctx context.Context, list []answer) error {
	if g.group.Updates > 1 {
		err := g.policy.logProbs(ctx, choices(list), func(i int, row graph.Tensor) error {
			list[i].old = row.Floats()
			return nil
		})
		if err != nil {
			return err
		}
	}
	return g.refer(ctx, list)
}

// refer sets the logarithms of the probabilities with the weights from before the tuning, for the penalty.
func (g *GRPO) refer(ctx context.Context, list []answer) error {
	if g.group.Beta == 0 {
		return nil
	}
	return g.policy.before(func() error {
		return g.policy.logProbs(ctx, choices(list), func(i int, row graph.Tensor) error {
			list[i].reference = row.Floats()
			return nil
		})
	})
}

func choices(answers []answer) []text.Choice {
	list := make([]text.Choice, len(answers))
	for i, a := range answers {
		list[i] = a.Choice
	}
	return list
}

// answersFile is the file of a checkpoint with the answers of a round that has steps left.
const answersFile = "answers.json"

// savedAnswer is an answer as a checkpoint holds it, without what the weights from before the tuning determine.
type savedAnswer struct {
	Tokens    []int     `json:"tokens"`
	First     int       `json:"first"`
	Ended     bool      `json:"ended"`
	Reward    float64   `json:"reward"`
	Advantage float64   `json:"advantage"`
	Old       []float32 `json:"old"`
}

// TuningFiles is like gpt.Trainer's. Between two steps of a round the files hold its answers too.
func (g *GRPO) TuningFiles(path string) ([]checkpoint.File, error) {
	if g == nil || g.writer == nil {
		return nil, errNone
	}
	list, err := g.Trainer.TuningFiles(path)
	if err != nil || g.Done%g.group.Updates == 0 {
		return list, err
	}
	var answers []savedAnswer
	for _, a := range g.answers {
		saved := savedAnswer{a.Tokens, a.First, a.ended, a.reward, a.advantage, nil}
		for _, x := range a.old {
			saved.Old = append(saved.Old, float32(x)) // float32 computed it
		}
		answers = append(answers, saved)
	}
	return append(list, checkpoint.File{Name: answersFile, Write: func(w io.Writer) error {
		return json.NewEncoder(w).Encode(answers)
	}}), nil
}

// Restore is like gpt.Trainer's, for a checkpoint of TuningFiles. The Group must be the same as before, except for
// Score, which the caller must pass again.
func (g *GRPO) Restore(ctx context.Context, cp *checkpoint.Checkpoint) error {
	if g == nil || g.writer == nil {
		return errNone
	}
	if err := g.Trainer.Restore(cp); err != nil {
		return err
	}
	if g.Done%g.group.Updates == 0 {
		return nil
	}
	var answers []savedAnswer
	if err := train.ReadJSON(cp, answersFile, checkpoint.MaxFile, &answers); err != nil {
		return err
	}
	if rows := g.Config().BatchSize * g.Config().GradientAccumulationSteps; len(answers) != rows {
		return errors.Errorf("checkpoint %s: %s: got %d answers, want %d, one for each row of a step", cp.Path,
			answersFile, len(answers), rows)
	}
	var list []answer
	for i, a := range answers {
		restored := answer{
			Choice: text.Choice{Tokens: a.Tokens, First: a.First},
			ended:  a.Ended, reward: a.Reward, advantage: a.Advantage,
		}
		for _, x := range a.Old {
			restored.old = append(restored.old, float64(x))
		}
		size := g.Config().VocabSize
		outside := slices.ContainsFunc(a.Tokens, func(id int) bool { return id < 0 || id >= size })
		if outside || a.First < 1 || a.First >= len(a.Tokens) || len(a.Tokens)-1 > g.policy.context ||
			len(a.Old) != g.policy.context {
			return errors.Errorf("checkpoint %s: %s: answer %d does not fit the run", cp.Path, answersFile, i)
		}
		list = append(list, restored)
	}
	if err := g.refer(ctx, list); err != nil {
		return errors.WithMessage(err, "grpo")
	}
	g.answers, g.round = list, g.Done/g.group.Updates+1
	return nil
}
