package tasks

import (
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pkg/errors"
)

// Guesses holds the accuracies on the test rows of guesses that see little of a row. A model is only better than these
// if it relates tokens to each other. Chance is the accuracy of a guess that sees nothing.
type Guesses struct {
	LastToken float64 // the answer that follows the last token most often in the training rows
	Seen      float64 // any of the tokens earlier in the row that are answers in the training rows, else any answer
}

// Guesses measures the guesses. It reads all rows.
func (t Task) Guesses() (g Guesses, err error) {
	if t.BlockSize < 1 || t.BlockSize > mostIDs {
		return g, errors.Errorf("tasks: %s: guesses: got BlockSize %d, want 1 to %d", t.Name, t.BlockSize, mostIDs)
	}
	often := map[int]map[int]int{} // last token → answer → how many times
	answers := map[int]bool{}
	err = t.eachAnswer(t.Train(), func(row []int, answer int) {
		last := row[len(row)-1]
		if often[last] == nil {
			often[last] = map[int]int{}
		}
		often[last][answer]++
		answers[answer] = true
	})
	if err != nil {
		return g, errors.WithMessagef(err, "tasks: %s: guesses", t.Name)
	}
	n, right, seen := 0, 0, 0.0
	err = t.eachAnswer(t.Val(), func(row []int, answer int) {
		n++
		if guess, ok := mostOften(often[row[len(row)-1]]); ok && guess == answer {
			right++
		}
		candidates := map[int]bool{}
		for _, id := range row {
			if answers[id] {
				candidates[id] = true
			}
		}
		if len(candidates) == 0 {
			candidates = answers
		}
		if candidates[answer] {
			seen += 1 / float64(len(candidates))
		}
	})
	all := float64(max(1, n))
	return Guesses{float64(right) / all, seen / all}, errors.WithMessagef(err, "tasks: %s: guesses", t.Name)
}

// mostOften returns the answer with the largest count. Of equal counts the smallest answer wins. ok is false if counts
// is empty.
func mostOften(counts map[int]int) (most int, ok bool) {
	for answer, n := range counts {
		if !ok || n > counts[most] || n == counts[most] && answer < most {
			most, ok = answer, true
		}
	}
	return most, ok
}

// eachAnswer calls f with every answer of a part, and the tokens of its row up to the last one before it.
func (t Task) eachAnswer(part text.Split, f func(row []int, answer int)) error {
	x, y := make([]int, t.BlockSize), make([]int, t.BlockSize)
	for _, err := range text.Blocks(part, x, y, t.BlockSize) {
		if err != nil {
			return err
		}
		for i, answer := range y {
			if answer != text.Ignore {
				f(x[:i+1], answer)
			}
		}
	}
	return nil
}
