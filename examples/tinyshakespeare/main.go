// Tinyshakespeare trains a small GPT on the works of Shakespeare, character by character, on the processor, and
// samples from it. Without flags it follows nanoGPT's recipe for a laptop: 4 layers, 4 heads, width 128, 2000
// iterations.
//
//	go run ./examples/tinyshakespeare                                # train, sample, save to out/
//	go run ./examples/tinyshakespeare -resume                        # resume after Ctrl-C, bit-identically
//	go run ./examples/tinyshakespeare -serve :0                      # show the run in a browser
//	go run ./examples/tinyshakespeare -sample_only -prompt "ROMEO:"  # sample from the checkpoint
//
// Built with -tags mpi and started by mpirun or srun it is one of several ranks, which share the micro-batches of a
// step:
//
//	go build -tags mpi -o train ./examples/tinyshakespeare && mpirun -np 4 ./train -gradient_accumulation_steps 4
//	mpirun -H host1,host2 --bind-to none -np 2 ./train -resume       # two machines that share out_dir
//
// A rank that is frozen or cut off ends the others after -timeout, with status 75. Open MPI's launcher detects a lost
// machine as quickly with --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 1 --mca
// oob_tcp_keepalive_probes 3. On an interrupt it gives ranks one second to save; --mca odls_base_sigkill_timeout 10
// makes it wait ten.
package main

import (
	"cmp"
	"context"
	"io"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

func main() { program.MainOfRanks("tinyshakespeare", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, o, err := parse(gpt.Shakespeare(), args, stderr)
	if err != nil {
		return err
	}
	if o.sampleOnly {
		return sampleOnly(ctx, c, o, args, stdout, stderr)
	}
	g, err := dist.Open(o.ranks)
	if err != nil {
		return err
	}
	if g.Rank() > 0 {
		err = follow(ctx, g, c, o, args, stderr)
	} else {
		err = job{c, o, args, g, stdout, stderr}.lead(ctx)
	}
	if err != nil { // its status ends the other ranks
		return err
	}
	return g.Close()
}

// job is one call of the program: the configuration and options that its flags set, and its surroundings.
type job struct {
	config         gpt.Config
	options        options
	args           []string
	ranks          dist.Group
	stdout, stderr io.Writer
}

// lead trains, alone or as rank 0, a new run or the saved one.
func (j job) lead(ctx context.Context) error {
	if !j.options.resume {
		return j.train(ctx, nil, nil)
	}
	path := j.config.OutDir
	dir, saved, err := base.Decoder().Resume(path, j.stderr)
	if err != nil {
		return errors.Wrap(err, "-resume")
	}
	defer dir.Close()
	defer saved.Close()
	if j.config, j.options, err = again(path, saved, j.args); err != nil {
		return err
	}
	if j.options.data == "" && finished(j.config, saved, j.stdout) {
		return tell(j.ranks, finish)
	}
	return j.train(ctx, dir, saved)
}

// train trains, saves, reports, and prints a sample. dir and saved are nil for a new run.
func (j job) train(ctx context.Context, dir *checkpoint.Dir, saved *checkpoint.Checkpoint) error {
	c, o := j.config, j.options
	if err := base.Check(c); err != nil { // before opening the text
		return err
	}
	if saved == nil {
		if err := base.Vacant(c.OutDir); err != nil {
			return err
		}
	}
	w, err := newWatch(o, c.OutDir)
	if err != nil {
		return err
	}
	defer w.Close()
	if !c.Kernels {
		graph.UseBLAS(c.Threads)
	}
	program.Doing(j.stderr, "reading the text")
	source, data, tok, err := o.open(ctx, c.BlockSize, saved, j.stderr)
	if err != nil {
		return err
	}
	if saved != nil && finished(c, saved, j.stdout) {
		return tell(j.ranks, finish)
	}
	if o.samples() { // now rather than after the training
		if _, err := base.Prompt(tok, o.prompt); err != nil {
			return err
		}
	}
	program.Doing(j.stderr, "building the network")
	t, err := trainer(ctx, j.ranks, c, data, tok, saved)
	if err != nil {
		return err
	}
	if err := w.begin(t); err != nil {
		return err
	}
	h, err := newCurvature(o, t)
	if err != nil {
		return err
	}
	if saved == nil { // only now: a refused run leaves no files
		if dir, err = base.Begin(c.OutDir); err != nil {
			return err
		}
		defer dir.Close()
	}
	dir.Keep = o.spared(c.OutDir)
	if err := shared(j.ranks, c.OutDir); err != nil {
		return err
	}
	r, err := newReport(t, source, o, w, h, j.stdout)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := fit(ctx, t, dir, r); err != nil {
		return err
	}
	return j.end(ctx, t, r)
}

// end releases the other ranks, which do not wait for the sample, and prints the sample.
func (j job) end(ctx context.Context, t *gpt.Trainer, r *report) error {
	if err := tell(j.ranks, finish); err != nil {
		return err
	}
	if err := sample(ctx, t.Model, t.Tokenizer, j.options, j.config.Seed, j.stdout); err != nil {
		return err
	}
	return r.Trouble
}

// sampleOnly prints a sample of a checkpoint. Flags must not contradict its network, but may set another seed.
func sampleOnly(ctx context.Context, c gpt.Config, o options, args []string, stdout, stderr io.Writer) error {
	saved, err := base.Decoder().Load(cmp.Or(o.model, c.OutDir), stderr)
	if err != nil {
		return err
	}
	defer saved.Close()
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	files, err := gpt.SourceOf(saved)
	if err != nil {
		return err
	}
	m, tok, err := base.Open(g, files)
	if err != nil {
		return err
	}
	given, _, err := parse(m.Config, args, io.Discard)
	if err != nil {
		return err
	}
	seed := given.Seed
	given.Seed, given.Kernels = m.Config.Seed, m.Config.Kernels
	if err := given.ResumeDiff(m.Config); err != nil {
		return errors.Wrapf(err, "checkpoint %s", saved.Path)
	}
	if err := o.hasKind(tok); err != nil {
		return err
	}
	return sample(ctx, m, tok, o, seed, stdout)
}
