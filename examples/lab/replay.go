package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// audit is a study whose trials are run again.
type audit struct {
	dir, trials string
	data        list
	n, threads  int
	commit      bool
	tasks       options // reads tasks by their names

	names          map[string]string // of the texts, by their SHA-256
	texts          map[string]lab.Text
	stdout, stderr io.Writer
}

// replay runs trials of a study again, and returns an error that names the first number that differs.
func replay(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	a := &audit{stdout: stdout, stderr: stderr, texts: map[string]lab.Text{}, names: map[string]string{}}
	fs := program.Flags("lab replay", stderr)
	fs.Group("replay", "trials of a study that are run again", func(fs *flag.FlagSet) {
		fs.StringVar(&a.dir, "replay", "out/lab", "directory of the study, or a board such as "+
			"examples/lab/BOARD.md, of which -trials names a row")
		fs.IntVar(&a.n, "n", 5, "number of trials, chosen at random; 0 is all of them")
		fs.StringVar(&a.trials, "trials", "",
			"only trials with this in their names, such as an arm, for a row of a table")
		fs.Var(&a.data, "data", "text file of the study, if it has moved; may be repeated")
		fs.IntVar(&a.threads, "threads", 0, "threads of the kernels; 0 is one per processor")
		fs.BoolVar(&a.tasks.quick, "quick", false, "the study had -quick, which makes tasks small")
		fs.BoolVar(&a.commit, "other_commit", false, "run trials of another commit again")
	})
	fs.Often("replay n trials data")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := cmp.Or(
		program.Want(a.n >= 0, "n", a.n, "0 or more"),
		program.Want(a.threads >= 0 && a.threads <= 4096, "threads", a.threads, "0 to 4096"),
		program.Want(a.dir != "", "replay", `""`, "the directory of a study"),
	); err != nil {
		return err
	}
	if strings.HasSuffix(a.dir, ".md") {
		return a.replayRow(ctx)
	}
	return a.run(ctx)
}

// run chooses the trials and runs them.
func (a *audit) run(ctx context.Context) error {
	name, texts, err := lab.Question(a.dir)
	if err != nil {
		return errors.Wrap(err, "-replay")
	}
	for name, sum := range texts {
		a.names[sum] = name
	}
	all, err := lab.Reported(a.dir)
	if err != nil {
		return errors.Wrap(err, "-replay")
	}
	sum, err := lab.SHA256(all)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "study %q: %d trials, SHA-256 of the configurations and results %s; not signed\n", name,
		len(all), sum)
	chosen := slices.DeleteFunc(slices.Clone(all), func(f lab.Finished) bool {
		return !strings.Contains(f.Name, a.trials)
	})
	if len(chosen) == 0 {
		return errors.Errorf("-trials: got %q, which is in the name of no trial, such as %q", a.trials, all[0].Name)
	}
	if a.n > 0 && a.n < len(chosen) {
		rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:a.n]
	}
	slices.SortFunc(chosen, func(f, g lab.Finished) int { return strings.Compare(f.Name, g.Name) })
	for i, f := range chosen {
		if err := a.again(ctx, f, fmt.Sprintf("trial %d of %d", i+1, len(chosen))); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(a.stdout, "equal to the last bit: %d of %d trials\n", len(chosen), len(all))
	return err
}

// again runs a trial again and prints what is equal.
func (a *audit) again(ctx context.Context, f lab.Finished, which string) error {
	if err := a.sources(f); err != nil {
		return err
	}
	t, err := a.text(ctx, f)
	if err != nil {
		return err
	}
	bar := program.NewBar(a.stderr, which, 0, f.Result.Steps)
	compared, err := f.Repeat(ctx, t, []lab.Measure{lab.Memory(), lab.State()}, a.threads,
		func(s lab.Step) { bar.Draw(s.Step) })
	bar.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if here := train.ThisBuild().String(); here != f.Build {
			return errors.Errorf("not equal: %v; the builds differ: %.80q here, %.80q there", err, here, f.Build)
		}
		return errors.Errorf("not equal: %v; the builds agree in Go, processor and kernels", err)
	}
	left := ""
	for _, name := range slices.Sorted(maps.Keys(f.Result.Measures)) {
		if !slices.Contains(compared, name) {
			left += "; not compared: " + name
		}
	}
	_, err = fmt.Fprintf(a.stdout, "%s: equal: %s%s\n", cmp.Or(f.Name, f.Key[:12]), strings.Join(compared, ", "), left)
	return err
}

// sources returns an error if a trial is of another commit than this program, as far as both are known.
func (a *audit) sources(f lab.Finished) error {
	here, err := certificate.Source()
	if err != nil {
		return err
	}
	_, mine, known := strings.Cut(here, "@")
	_, theirs, also := strings.Cut(f.Source, "@")
	if known && also && mine != theirs && !a.commit {
		return errors.Errorf("-replay: %s: other sources, whose numbers may differ: commit %.40s here, %.40s there; "+
			"build this program from theirs, or give -other_commit", f.Name, mine, theirs)
	}
	return nil
}

// text returns the text of a trial: one of -data, a task, or the one that the study names.
func (a *audit) text(ctx context.Context, f lab.Finished) (t lab.Text, err error) {
	tokenizer := a.tokenizer(f)
	if t, ok := a.texts[f.Corpus+tokenizer]; ok {
		return t, nil
	}
	defer func() {
		if err == nil {
			a.texts[f.Corpus+tokenizer] = t
		}
	}()
	name, ok := a.names[f.Corpus]
	if !ok {
		return t, errors.Errorf("-replay: %s: the study names no text of sha256 %s", f.Name, f.Corpus)
	}
	for _, path := range append(slices.Clone(a.data), name) {
		task, _, _ := strings.Cut(path, ":")
		if slices.Contains(tasks.Names(), task) {
			if t, err = a.tasks.task(path); err == nil && t.Corpus.SHA256() == f.Corpus {
				return t, nil
			}
			continue
		}
		source, err := corpus.Named(ctx, path, a.stderr)
		if err != nil {
			return t, errors.WithMessage(err, "-data")
		}
		if source.SHA256() != f.Corpus {
			continue
		}
		kind, err := text.KindOf(tokenizer, bpe.Kind())
		if err != nil {
			return t, err
		}
		tok, err := kind.New(source.Text)
		if err != nil {
			return t, err
		}
		c, err := source.Encode(tok, f.Config.BlockSize)
		return lab.Text{Name: name, Corpus: c, Tokenizer: tok}, err
	}
	return t, errors.Errorf("text: %.80q has another sha256 than the study's, %s; set -data to its text, or -quick if "+
		"the study had it", name, f.Corpus)
}

// tokenizer returns the kind of tokenizer of a trial, which its certificate names.
func (a *audit) tokenizer(f lab.Finished) string {
	c, err := certificate.Open(filepath.Join(a.dir, "certificates", f.Key+".json"))
	if err != nil { // of an earlier version: Repeat compares the tokenizer
		return text.Kinds()[0].Name
	}
	if kind, err := text.KindOf(c.Tokenizer.Kind, bpe.Kind()); err == nil && kind.Sized != nil {
		return fmt.Sprintf("%s:%d", c.Tokenizer.Kind, c.Tokenizer.Size)
	}
	return c.Tokenizer.Kind
}
