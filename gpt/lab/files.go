package lab

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// resultsFile lists the trials of a report.
const resultsFile = "results.jsonl"

// Write writes the trials into a directory: into results.jsonl the numbers that another run repeats to the bit, into
// timings.jsonl the others, and into results.csv both. It returns the first error, and tries the other files
// nevertheless.
func (r *Report) Write(dir string) (first error) {
	if err := r.writable(dir); err != nil {
		return err
	}
	for _, f := range []struct {
		name  string
		write func(w io.Writer, list []*Trial) error
	}{{resultsFile, writeResults}, {"timings.jsonl", writeTimings}, {"results.csv", writeSheet}} {
		err := file.Replace(filepath.Join(dir, f.name), func(w io.Writer) error { return f.write(w, r.Trials) })
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

// writable returns an error unless there are a report and a directory for it.
func (r *Report) writable(dir string) error {
	switch {
	case r == nil:
		return errors.New("report: got none to write (nil)")
	case dir == "":
		return errors.New("report: directory: got none to write into")
	}
	return nil
}

// Reported lists the trials of the last Report.Write in the directory of a study: those in results.jsonl. Without this
// file it lists all Results.
func Reported(dir string) ([]Finished, error) {
	all, err := Results(dir)
	if err != nil {
		return nil, err
	}
	const most = 1 << 30 // bytes
	data, err := file.Read(filepath.Join(dir, resultsFile), most)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	keys := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var line struct {
			Key string `json:"key"`
		}
		if err := field.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, errors.Wrap(err, resultsFile)
		}
		keys[line.Key] = true
	}
	list := slices.DeleteFunc(slices.Clone(all), func(f Finished) bool { return !keys[f.Key] })
	if len(list) < len(keys) {
		return nil, errors.Errorf("%s has %d trials, of which %d have no record in %s", resultsFile, len(keys),
			len(keys)-len(list), resultsDir)
	}
	return list, lines.Err()
}

// writeLines writes values as lines of JSON.
func writeLines[T any](w io.Writer, list []*Trial, value func(*Trial) T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for _, t := range list {
		if err := e.Encode(value(t)); err != nil {
			return err
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// writeResults writes a line for each trial, with the numbers that another run repeats to the bit.
func writeResults(w io.Writer, list []*Trial) error {
	return writeLines(w, list, func(t *Trial) *Trial { return t })
}

// writeTimings writes a line for each trial, with the numbers that another run does not repeat.
func writeTimings(w io.Writer, list []*Trial) error {
	type timing struct {
		Text, Arm, Setting string
		Tuning             bool
		Seed               uint64
		Key                string
		Timing
	}
	return writeLines(w, list, func(t *Trial) timing {
		return timing{t.Text, t.Arm, t.Setting, t.Tuning, t.Seed, t.Key, t.Timing}
	})
}

// writeSheet writes a row for each trial.
func writeSheet(w io.Writer, list []*Trial) error {
	c := csv.NewWriter(w)
	c.Write([]string{"text", "arm", "setting", "tuning", "seed", "loss", "diverged_at", "parameters", "steps", "tokens",
		"flops", "seconds", "ms_per_step"})
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, t := range list {
		loss := number(t.Result.Loss)
		if t.Result.Diverged > 0 {
			loss = ""
		}
		c.Write([]string{t.Text, t.Arm, t.Setting, strconv.FormatBool(t.Tuning), strconv.FormatUint(t.Seed, 10), loss,
			strconv.Itoa(t.Result.Diverged), strconv.FormatInt(t.Result.Parameters, 10), strconv.Itoa(t.Result.Steps),
			number(t.Result.Tokens), number(t.Result.FLOPs), number(t.Timing.Seconds), number(t.Timing.Ms)})
	}
	c.Flush()
	return c.Error()
}
