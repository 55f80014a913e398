package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
	"gonum.org/v1/gonum/stat"
)

// published holds a table of -published, such as a paper's or the scores.csv of another study: a line of tasks, and a
// line for every arm. A line that begins with # is a comment. Columns of standard errors are skipped.
type published struct {
	file string
	of   map[[2]string]float64 // by arm and task
}

// maxScores is the size in bytes of the largest file of -published.
const maxScores = 1 << 20

// readScores reads a table of -published.
func readScores(path string) (*published, error) {
	data, err := file.ReadText(path, maxScores)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(strings.NewReader(string(data)))
	r.Comment = '#'
	lines, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) < 2 || len(lines[0]) < 2 {
		return nil, errors.New("got no scores, want a line of tasks and a line for every arm")
	}
	s := &published{file: filepath.Base(path), of: map[[2]string]float64{}}
	for _, line := range lines[1:] {
		for i, cell := range line[1:] {
			task, err := lines[0][i+1], error(nil)
			if cell == "" || strings.HasSuffix(task, " se") {
				continue
			}
			at := [2]string{line[0], taskName(task)}
			if _, twice := s.of[at]; twice {
				return nil, errors.Errorf("%s, %s: got it twice", line[0], task)
			}
			if s.of[at], err = strconv.ParseFloat(cell, 64); err != nil {
				return nil, errors.Errorf("%s, %s: got %q, want a number", line[0], task, cell)
			}
		}
	}
	return s, nil
}

// taskName returns the name of a task without its options.
func taskName(text string) string {
	name, _, _ := strings.Cut(text, ":")
	return name
}

// ranked compares the scores of a study with the scores of a table, by Spearman's rank correlation, the correlation of
// the ranks. It is 0 where one of the two tables has no order.
type ranked struct {
	File   string             `json:"file"`
	Scores int                `json:"scores"` // that both tables have
	Arms   []string           `json:"arms"`
	All    float64            `json:"all"`   // of all scores
	Means  float64            `json:"means"` // of the means of the arms over the tasks that both tables have
	Tasks  map[string]float64 `json:"tasks"` // of the arms on one task
}

// compare returns the rank correlations of the matrix with the published scores, or an error if they have fewer than
// three arms in common.
func (s *published) compare(tables []table) (*ranked, error) {
	r := &ranked{File: s.file, Tasks: map[string]float64{}}
	var ours, theirs []float64
	means, of := map[string][2]float64{}, map[string]float64{}
	for _, t := range tables {
		var x, y []float64
		for _, line := range t.Rows {
			published, ok := s.of[[2]string{line.Arm, taskName(t.Text)}]
			if !ok || line.Outcome == nil {
				continue
			}
			x, y = append(x, line.Outcome.Value), append(y, published)
			m := means[line.Arm]
			means[line.Arm], of[line.Arm] = [2]float64{m[0] + line.Outcome.Value, m[1] + published}, of[line.Arm]+1
		}
		if len(x) > 1 {
			r.Tasks[taskName(t.Text)] = spearman(x, y)
		}
		ours, theirs = append(ours, x...), append(theirs, y...)
	}
	var mine, other []float64
	for _, line := range tables[0].Rows {
		if n := of[line.Arm]; n > 0 {
			r.Arms = append(r.Arms, line.Arm)
			mine, other = append(mine, means[line.Arm][0]/n), append(other, means[line.Arm][1]/n)
		}
	}
	if len(r.Arms) < 3 {
		return nil, errors.Errorf("-published: %s has %d of the arms, want at least 3 of the same names: %s", s.file,
			len(r.Arms), strings.Join(r.Arms, ", "))
	}
	r.Scores, r.All, r.Means = len(ours), spearman(ours, theirs), spearman(mine, other)
	return r, nil
}

// spearman returns the correlation of the ranks of x and y.
func spearman(x, y []float64) float64 {
	a, b := ranks(x), ranks(y)
	if slices.Min(a) == slices.Max(a) || slices.Min(b) == slices.Max(b) {
		return 0
	}
	return stat.Correlation(a, b, nil)
}

// ranks returns the rank of every number, from 1 on. Equal numbers share the mean of their ranks.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	list := make([]float64, len(x))
	for first := 0; first < len(order); {
		last := first
		for last+1 < len(order) && x[order[last+1]] == x[order[first]] {
			last++
		}
		for _, i := range order[first : last+1] {
			list[i] = float64(first+last)/2 + 1
		}
		first = last + 1
	}
	return list
}

// text says how the ranks agree.
func (r *ranked) text() string {
	var tasks []string
	for name, rho := range r.Tasks {
		tasks = append(tasks, fmt.Sprintf("%s %.2f", name, rho))
	}
	slices.Sort(tasks)
	return fmt.Sprintf("Spearman's ρ %.2f with %s over %d scores of %d arms, %.2f of the means of the arms; "+
		"by task: %s", r.All, r.File, r.Scores, len(r.Arms), r.Means, strings.Join(tasks, ", "))
}
