package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/certificate"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// replay holds the flags of -replay.
type replay struct {
	path     string // a certificate, or the directory of a run
	with     string // another one, which is compared instead
	segments int    // the number of stretches; 0 means the entire run
	commit   bool   // replays certificates of other commits
	data     string
	run      train.Run
}

// audit is a certificate that is replayed, with what lies beside it.
type audit struct {
	replay
	*certificate.Certificate
	dir            string // of the checkpoints; empty if the certificate is alone
	name           string // of the certificate
	saved          []*checkpoint.Checkpoint
	known          map[int]program.StepLine // the metrics
	corpus         text.Corpus
	tokenizer      text.Tokenizer
	stdout, stderr io.Writer
}

// do replays a certificate, and says that everything is equal, or returns an error that names the first difference.
func (r replay) do(ctx context.Context, stdout, stderr io.Writer) error {
	a := &audit{replay: r, stdout: stdout, stderr: stderr}
	if err := a.open(); err != nil {
		return err
	}
	defer a.close()
	a.describe()
	if r.with != "" {
		return a.compare()
	}
	if err := a.sources(certificate.ThisBuild()); err != nil {
		return err
	}
	if err := a.directory(); err != nil {
		return err
	}
	if err := a.texts(ctx); err != nil {
		return err
	}
	stretches, err := a.stretches()
	if err != nil {
		return err
	}
	links, states, steps := 0, 0, 0
	for _, s := range stretches {
		l, n, err := a.again(ctx, s)
		if err != nil {
			return a.explained(err)
		}
		links, states, steps = links+l, states+n, steps+s.to-s.from
	}
	_, err = fmt.Fprintf(stdout, "equal to the last bit: %d steps, %d links, %d checkpoints\n", steps, links, states)
	return err
}

// certificateAt returns the path of the certificate at path, a file or the directory of a run.
func certificateAt(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return path, nil
	}
	for _, dir := range []string{path, filepath.Join(path, "checkpoints")} { // of examples/gpt2
		file := filepath.Join(dir, certificate.File)
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return "", errors.Errorf("%s: no %s, which runs of earlier versions lack", path, certificate.File)
}

// open reads the certificate, and finds the checkpoints beside it if path is a directory.
func (a *audit) open() (err error) {
	if a.name, err = certificateAt(a.path); err != nil {
		return errors.Wrap(err, "-replay")
	}
	if a.Certificate, err = certificate.Open(a.name); err != nil {
		return errors.Wrap(err, "-replay")
	}
	if a.name == a.path {
		if a.segments > 0 {
			return errors.Errorf("-segments: got a certificate alone, want the directory of a run, whose checkpoints " +
				"begin the stretches")
		}
		return nil
	}
	paths := []string{filepath.Dir(a.name)} // a checkpoint alone
	if !strings.HasPrefix(filepath.Base(paths[0]), "step-") {
		a.dir = paths[0]
		if paths, err = filepath.Glob(filepath.Join(a.dir, "step-*[0-9]")); err != nil {
			return err
		}
	}
	for _, path := range paths {
		cp, err := checkpoint.Load(path, gpt.Fits())
		if err != nil {
			return errors.Wrap(err, "-replay")
		}
		a.saved = append(a.saved, cp)
	}
	return nil
}

func (a *audit) close() {
	for _, cp := range a.saved {
		cp.Close()
	}
}

// describe prints what the certificate contains, and what it does not.
func (a *audit) describe() {
	saved := 0
	for _, l := range a.Links {
		if l.Weights != "" {
			saved++
		}
	}
	steps := fmt.Sprintf("%d steps", a.Last().Step)
	if a.From > 0 {
		steps = fmt.Sprintf("the steps %d to %d", a.From+1, a.Last().Step)
	}
	fmt.Fprintf(a.stdout, "%s: %s, %d links, %d checkpoints, sha256 %.16s…; not signed\n", a.name, steps, len(a.Links),
		saved, a.SHA256)
	for _, b := range a.Builds {
		fmt.Fprintf(a.stdout, "from step %d on: %s\n", b.From+1, built(b))
	}
	if a.LeftOut > 0 {
		fmt.Fprintf(a.stdout, "and %d builds between the first two, which it does not name\n", a.LeftOut)
	}
	for _, c := range a.Code {
		if !c.Covered() {
			fmt.Fprintf(a.stdout, "not covered: %.64q, which is not the library's\n", c.Name)
		}
	}
}

// built returns a line about a build.
func built(b certificate.Build) string {
	commit := "commit " + b.Commit
	if b.Commit == "" {
		commit = fmt.Sprintf("program %.16s…", b.Program)
	}
	return fmt.Sprintf("%.20s %.20s/%.20s %.8s %.20s, %.60s, %.60s", b.Go, b.OS, b.Arch, b.GoAMD64, b.Kernels, b.Module,
		commit)
}

// sources returns an error if the certificate is of another commit, or version of the library, than this program.
func (a *audit) sources(here certificate.Build) error {
	for _, b := range a.Builds {
		if !here.SameSource(b) && !a.commit {
			return errors.Errorf("-replay: other sources, whose numbers may differ: %s; build this program from "+
				"theirs, or give -other_commit", strings.Join(here.Diff(b), ", "))
		}
	}
	return nil
}

// compare compares the certificate with the one of -with.
func (a *audit) compare() error {
	path, err := certificateAt(a.with)
	if err != nil {
		return errors.Wrap(err, "-with")
	}
	other, err := certificate.Open(path)
	if err != nil {
		return errors.Wrap(err, "-with")
	}
	links, err := a.Certificate.Compare(other)
	if err != nil {
		return differing(err, other.Builds[len(other.Builds)-1], a.Builds)
	}
	if links == 0 {
		return errors.Errorf("-with: %s has no step in common with %s", path, a.name)
	}
	_, err = fmt.Fprintf(a.stdout, "%s: equal to the last bit in %d links\n", path, links)
	return err
}

// directory compares the metrics and the checkpoints in the directory of a run with the certificate.
func (a *audit) directory() error {
	for _, cp := range a.saved {
		if err := train.CheckState(a.Certificate, cp); err != nil {
			if l, ok := a.At(cp.Step); !ok || l.Weights == "" {
				fmt.Fprintf(a.stdout, "step %d: the checkpoint is not in the certificate\n", cp.Step)
				continue
			}
			return err
		}
		fmt.Fprintf(a.stdout, "step %d: the checkpoint has the hashes of the certificate\n", cp.Step)
	}
	if a.dir == "" {
		return nil
	}
	return a.metrics()
}

// mostKnown is the largest number of lines of metrics that are kept to name the first step that differs.
const mostKnown = 1 << 20

// metrics compares the losses and norms of all steps in the metrics of the run with the chain.
func (a *audit) metrics() error {
	dir := a.dir
	if filepath.Base(dir) == "checkpoints" {
		dir = filepath.Dir(dir)
	}
	r, err := a.Replay(a.From)
	if err != nil {
		return err
	}
	a.known = map[int]program.StepLine{}
	compared := a.From
	for line, err := range program.Steps(dir) {
		if err != nil {
			return err
		}
		if line.Step <= compared || line.Step > a.Last().Step {
			continue
		}
		if line.Step != compared+1 {
			fmt.Fprintf(a.stdout, "%s: no line of step %d, and what follows is not compared\n", program.MetricsFile,
				compared+1)
			return nil
		}
		if err := r.Step(line.Step, line.Loss, line.Norm); err != nil {
			return errors.WithMessagef(err, "%s, which was edited, or is of another run", program.MetricsFile)
		}
		if compared = line.Step; len(a.known) < mostKnown {
			a.known[line.Step] = line
		}
	}
	if links, _ := r.Compared(); links > 0 {
		fmt.Fprintf(a.stdout, "%s: the losses and norms of %d steps agree with the certificate\n",
			program.MetricsFile, compared-a.From)
	}
	return nil
}

// again does the steps of a stretch again, and returns the number of links and of checkpoints that are equal.
func (a *audit) again(ctx context.Context, s stretch) (links, states int, err error) {
	run := a.run
	run.Context = ctx
	t, err := gpt.Repeat(a.Certificate, run, a.corpus, a.tokenizer, s.saved)
	if err != nil {
		return 0, 0, err
	}
	r, err := a.Replay(s.from)
	if err != nil {
		return 0, 0, err
	}
	if err := state(r, t); err != nil { // before the first step
		return 0, 0, err
	}
	bar := program.NewBar(a.stderr, fmt.Sprintf("steps %d to %d", s.from+1, s.to), s.from, s.to)
	defer bar.Close()
	for p, err := range t.Steps(ctx, s.to, t.Step) {
		if err != nil {
			return 0, 0, program.Cause(ctx, err)
		}
		bar.Draw(p.Step)
		if line, ok := a.known[p.Step]; ok {
			if d := unlike(line, p); d != nil {
				return 0, 0, d
			}
		}
		if err := r.Step(p.Step, p.Loss, p.Norm); err != nil {
			return 0, 0, err
		}
		if l, ok := a.At(p.Step); !ok || l.Weights == "" {
			continue
		}
		if err := state(r, t); err != nil {
			return 0, 0, err
		}
	}
	links, states = r.Compared()
	return links, states, nil
}

// unlike returns the difference between a line of the metrics and the step of a replay, or nil.
func unlike(line program.StepLine, p train.Progress) *certificate.Difference {
	for _, n := range []struct {
		name      string
		want, got float64
	}{{"loss", line.Loss, p.Loss}, {"norm of the gradient", line.Norm, p.Norm}} {
		if math.Float64bits(n.want) != math.Float64bits(n.got) {
			return &certificate.Difference{Step: p.Step, Since: p.Step - 1, Field: n.name,
				Want: certificate.Bits(n.want), Got: certificate.Bits(n.got)}
		}
	}
	return nil
}

// state compares the weights, moments and generator of a trainer with the link of its step.
func state(r *certificate.Replay, t *gpt.Trainer) error {
	files, err := t.Files()
	if err != nil {
		return err
	}
	now, err := train.Certify(files)
	if err != nil {
		return err
	}
	return r.State(now.Last().State)
}

// explained adds to a difference what differs between the builds.
func (a *audit) explained(err error) error {
	return differing(err, certificate.ThisBuild(), a.Builds)
}

// differing adds to a difference what differs between a build and the builds of the certificate.
func differing(err error, here certificate.Build, builds []certificate.Build) error {
	var d *certificate.Difference
	if !errors.As(err, &d) {
		return err
	}
	at := builds[0]
	for _, b := range builds {
		if b.From < d.Step {
			at = b
		}
	}
	if list := here.Diff(at); len(list) > 0 {
		return errors.Errorf("not equal: %v; the builds differ: %s", err, strings.Join(list, ", "))
	}
	return errors.Errorf("not equal: %v; the builds agree in version, commit, Go, system, processor and kernels", err)
}
