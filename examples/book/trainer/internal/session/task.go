package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// task names something to learn, and loads its data.
type task struct {
	name, about string
	// load returns the data with its tokenizer, and sets the sizes of the configuration that depend on them.
	load func(c *gpt.Config, written string) (data, error)
}

// data is a corpus with its tokenizer, and questions that are not in the part to train on.
type data struct {
	text.Corpus
	tok       *text.Characters
	questions []question // empty for a text, which is continued
	prompt    string     // the beginning of a sample of a text
}

// question is a question and its right answer.
type question struct{ ask, answer string }

// tasks lists the tasks, the first one first in the page.
func tasks() []task {
	return []task{
		{"sum", "adds two numbers below 100; the answer begins with its last digit, as on paper", questions(sum)},
		{"sort", "sorts four digits", questions(sorted)},
		{"text", "continues a text of your own, character by character", readerText},
	}
}

// population is the number of different questions of a task, and unseen how many of them are not trained on.
const population, unseen = 10_000, 1_000

// sum returns question n: the sum of n/100 and n%100, whose digits are reversed.
func sum(n int) question {
	digits := []byte(fmt.Sprintf("%03d", n/100+n%100))
	slices.Reverse(digits)
	return question{fmt.Sprintf("%02d+%02d=", n/100, n%100), string(digits)}
}

// sorted returns question n: its four digits in their order.
func sorted(n int) question {
	ask := fmt.Sprintf("%04d", n)
	digits := []byte(ask)
	slices.Sort(digits)
	return question{ask + ">", string(digits)}
}

// questions returns the loading of a task of questions. Each is a row, and only its answer has targets. The order of
// the questions is the same for every seed of a run, so that runs are compared on the same ones.
func questions(of func(n int) question) func(*gpt.Config, string) (data, error) {
	return func(c *gpt.Config, _ string) (d data, err error) {
		list := make([]question, population)
		var everything strings.Builder
		for i, n := range rand.New(rand.NewPCG(1, 2)).Perm(population) {
			list[i] = of(n)
			fmt.Fprintln(&everything, list[i].ask+list[i].answer)
		}
		if d.tok, err = text.NewCharacters(strings.ReplaceAll(everything.String(), "\n", "")); err != nil {
			return d, err
		}
		c.VocabSize, c.BlockSize = d.tok.Size(), len(list[0].ask+list[0].answer)-1
		digest := sha256.Sum256([]byte(everything.String()))
		set := text.Dataset{Sum: hex.EncodeToString(digest[:])}
		if set.Training, err = text.Rows(d.rows(list[unseen:], &err), c.BlockSize); err != nil {
			return d, err
		}
		d.questions = list[:unseen]
		set.Validation, err = text.Rows(d.rows(d.questions, &err), c.BlockSize)
		d.Corpus = set
		return d, err
	}
}

// rows yields the tokens and targets of questions, until one cannot be encoded.
func (d data) rows(list []question, failed *error) iter.Seq2[[]int, []int] {
	return func(yield func(tokens, targets []int) bool) {
		for _, q := range list {
			ids, err := d.tok.Encode(q.ask + q.answer)
			if err != nil {
				*failed = err
				return
			}
			targets := slices.Clone(ids[1:])
			for i := range len(q.ask) - 1 {
				targets[i] = text.Ignore
			}
			if !yield(ids[:len(ids)-1], targets) {
				return
			}
		}
	}
}

// MostBytes is the largest size of a text of the reader, and the others bound it, too.
const fewestBytes, MostBytes, mostCharacters = 400, 1_000_000, 200

// readerText loads a text of the reader.
func readerText(c *gpt.Config, written string) (d data, err error) {
	if written == "" {
		written = verses
	}
	if n := len(written); n < fewestBytes || n > MostBytes {
		return d, errors.Errorf("text: got %d bytes, want %d to %d", n, fewestBytes, MostBytes)
	}
	if d.tok, err = text.NewCharacters(written); err != nil {
		return d, err
	}
	if n := d.tok.Size(); n > mostCharacters {
		return d, errors.Errorf("text: got %d different characters, want at most %d", n, mostCharacters)
	}
	c.VocabSize, c.BlockSize, c.BatchSize = d.tok.Size(), 24, 3
	d.Corpus, err = text.NewCorpus(written, d.tok, c.BlockSize)
	d.prompt = string([]rune(written)[:4])
	return d, err
}

// verses is a text to begin with.
const verses = `What comes first is counted, and what follows is weighed.
A row of numbers goes in, and a row of numbers comes out.
The first layer looks a token up, and the last layer asks which one follows.
Between them every layer adds a little to what it was given.
The loss is one number, and its slope is as many numbers as there are weights.
Each weight takes a small step down its own slope, and the loss is asked again.
A head looks back along the row, and takes from each token what it needs.
What no head takes is carried along as it was.
A norm divides by the length, so that no number grows without an end.
What is learnt is in the weights, and the weights are what you see here.
`
