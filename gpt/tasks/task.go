package tasks

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode"

	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Kind is a kind of task. Its fields are its options, of which 0 means the default.
type Kind interface{ rule() (rule, error) }

// All returns every kind of task with its default options.
func All() (list []Kind) {
	for _, read := range readers() {
		k, _ := read(nil) // no option is wrong
		list = append(list, k)
	}
	return list
}

const mad = "Poli et al. 2024, arXiv:2403.17844" // of the first six

// Facts describe a task.
type Facts struct {
	Name      string
	Source    string // the paper that describes it
	VocabSize int
	BlockSize int     // the number of tokens in the longest row
	Chance    float64 // accuracy of a uniform guess among the possible answers
	Optimum   Optimum
}

// Optimum holds the expected results of the best predictor.
type Optimum struct {
	Accuracy float64
	Loss     float64 // in nats per answer
}

// Set holds the numbers of rows, of which 0 means the number of the task's paper, or else 12,800 and 1,280 as in MAD.
// The test rows do not depend on the number of training rows, except for ModularAddition.
type Set struct {
	Train, Test int
	Seed        uint64
}

// Task is a text.Corpus: the training rows, and as validation split the test rows. Its hash covers its name, sizes and
// rows.
type Task struct {
	Facts
	text.Dataset
}

const (
	mostTokens = 1 << 28 // in a part
	mostIDs    = 1 << 16 // in a vocabulary, and tokens in a row
)

// New draws the rows of a task. Equal arguments give equal rows.
func New(k Kind, s Set) (Task, error) {
	if k == nil {
		return Task{}, errors.New("tasks: got no kind of task (nil)")
	}
	r, err := k.rule()
	o := options{r.Name, err}
	o.size("Train", &s.Train, pick(r.set.Train > 0, r.set.Train, 12800), 1, mostTokens/r.BlockSize)
	o.size("Test", &s.Test, pick(r.set.Test > 0, r.set.Test, 1280), 1, mostTokens/r.BlockSize)
	if r.all != nil {
		o.size("Train", &s.Train, 0, 1, len(r.all)-s.Test)
		shuffle := rand.New(rand.NewPCG(s.Seed, 0x6f72646572))
		shuffle.Shuffle(len(r.all), func(i, j int) { r.all[i], r.all[j] = r.all[j], r.all[i] })
	}
	if o.err != nil {
		return Task{}, o.err
	}
	t, sum := Task{Facts: r.Facts}, sha256.New()
	fmt.Fprintf(sum, "%q, %d ids, %d tokens, %d and %d rows\n", r.Name, r.VocabSize, r.BlockSize, s.Train, s.Test)
	if t.Training, err = r.rows(s, false, sum); err == nil {
		t.Validation, err = r.rows(s, true, sum)
	}
	t.Sum = hex.EncodeToString(sum.Sum(nil))
	return t, errors.WithMessagef(err, "tasks: %s", r.Name)
}

// Tokenizer returns a tokenizer of VocabSize characters, one for each id, which a trainer stores in its checkpoints. It
// takes letters, numbers, punctuation and symbols in the order of Unicode, beginning with ASCII's.
func (f Facts) Tokenizer() (text.Tokenizer, error) {
	if f.VocabSize < 1 || f.VocabSize > mostIDs {
		return nil, errors.Errorf("tasks: %s: VocabSize: got %d, want 1 to %d", f.Name, f.VocabSize, mostIDs)
	}
	var s strings.Builder
	for c, n := '!', 0; n < f.VocabSize; c++ {
		if unicode.In(c, unicode.L, unicode.N, unicode.P, unicode.S) {
			s.WriteRune(c)
			n++
		}
	}
	return text.NewCharacters(s.String())
}
