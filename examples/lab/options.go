package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/lab"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/gpt/tasks"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/internal/flags"
	"github.com/pkg/errors"
)

// options holds the flags, and what follows from them.
type options struct {
	command, preset string
	base            gpt.Config

	name, dir, tokenizer         string
	data, tasks, arms            list
	facts                        map[string]facts // of -tasks, by text
	parts                        string
	cross, report, asJSON, quick bool
	seeds, maxSeeds              int
	until, looks, boundary       string
	budget, measures, contexts   string
	tune                         list
	scale, scaleIters            string
	widths, rates                string
	baseWidth                    int // of muP with -widths
	tuningSeeds, jobs            int
	target, matters              float64
	file, share, events          string
	published                    string
	given                        map[string]bool // names of flags
	leftOut                      []string        // variants of -parts that the baseline makes impossible
	variants                     []lab.Arm
	limit                        lab.Budget
	tuning                       lab.Tuning
	plan                         paired.Plan
	part, processes              int
	lengths                      []int      // contexts
	scores                       *published // of -published
}

// defaultArms are compared if no flag names any.
const defaultArms = "position=rope; norm=rmsnorm; attention=linear"

// parse reads the flags of a command.
func parse(command string, args []string, stderr io.Writer) (o *options, err error) {
	o = &options{command: command, base: gpt.Shakespeare(), tuningSeeds: 1}
	budget := func(c *gpt.Config) { c.MaxIters, c.EvalInterval = 500, 100 }
	budget(&o.base)
	fs := o.flags(stderr)
	if err = fs.Parse(args); err != nil {
		return nil, err
	}
	o.given = fs.Given()
	if o.file != "" {
		if err := o.readStudy(fs); err != nil {
			return nil, errors.Wrapf(err, "-study %s", o.file)
		}
	}
	if err := base.ApplyPreset(fs, o.preset, &o.base, budget); err != nil {
		return nil, err
	}
	if o.quick {
		if err := o.small(fs); err != nil {
			return nil, err
		}
	}
	return o, cmp.Or(o.settle(), base.Check(o.base))
}

// flags returns the flags of the command.
func (o *options) flags(stderr io.Writer) *program.FlagSet {
	fs := program.Flags("lab "+o.command, stderr)
	leaveOut := []string{"log_interval", "out_dir", "vocab_size", "ema", "patience"}
	often := "preset n_layer n_head n_embd block_size batch_size max_iters learning_rate seeds measures out_dir " +
		"jobs report " +
		"quick study"
	switch o.command {
	case "compare", "tasks":
		if o.command == "tasks" {
			leaveOut = append(leaveOut, "block_size")
			fs.Group("study", "the study", o.taskFlags)
			often = strings.Replace("tasks arms parts until published "+often, "block_size ", "", 1)
		} else {
			fs.Group("study", "the study", o.textFlags)
			often = "arms parts cross data until budget tune " + often
		}
		fs.Group("study", "", o.armFlags)
	case "scale":
		leaveOut = append(leaveOut, "n_embd", "n_layer", "max_iters")
		fs.Group("study", "the study", o.scaleFlags)
		fs.Group("study", "", o.textFlags)
		fs.Old("scale", "sizes")
		often = "sizes scale_iters data preset n_head block_size batch_size learning_rate seeds out_dir jobs report " +
			"quick"
	case "transfer":
		leaveOut = append(leaveOut, "n_embd", "n_inner", "qk_size", "v_size", "learning_rate", "parametrization")
		fs.Group("study", "the study", o.transferFlags)
		fs.Group("study", "", o.textFlags)
		often = "widths rates base_width data preset n_layer n_head block_size batch_size max_iters seeds measures " +
			"out_dir " +
			"jobs report quick"
	}
	fs.Group("study", "", o.studyFlags)
	fs.Group("running", "how it is run, and what it writes", o.running)
	fs.Group("baseline", "", o.base.Flags, leaveOut...)
	fs.Old("dir", "out_dir")
	fs.Often(often)
	return fs
}

// textFlags adds the flags of the texts.
func (o *options) textFlags(fs *flag.FlagSet) {
	fs.Var(&o.data, "data", "text file to train on; by default tinyshakespeare, downloaded once; may be repeated")
	fs.StringVar(&o.tokenizer, "tokenizer", text.Kinds()[0].Name, "of the texts: "+text.KindNames(bpe.Kind()))
}

// taskFlags adds the flags of tasks with a known answer.
func (o *options) taskFlags(fs *flag.FlagSet) {
	fs.Var(&o.tasks, "tasks", `the tasks, whose accuracy decides, such as "parity:Length=16,TestLength=32; `+
		`repetition": `+
		"mad (the first six), "+strings.Join(tasks.Names(), ", "))
	fs.StringVar(&o.published, "published", "", "table of scores by arm and task, such as "+
		"examples/lab/mad.csv or the scores.csv of another study; reports how the ranks agree")
}

// armFlags adds the flags of the arms, of their seeds and of their budget.
func (o *options) armFlags(fs *flag.FlagSet) {
	fs.Var(&o.arms, "arms", `variants, such as "attention=linear; attention=gqa,n_kv_head=1", or presets, such as `+
		"modern; by default "+defaultArms)
	fs.StringVar(&o.parts, "parts", "", `variants of these parts, such as "attention,norm", or single ones, such as `+
		`"rope" or "head=linear"; "all" for every part`)
	fs.BoolVar(&o.cross, "cross", false, "combine the variants of every part with all variants of the other parts")
	fs.StringVar(&o.until, "until", "", `"told" adds seeds to the arms without a verdict, at the numbers of -looks`)
	fs.IntVar(&o.maxSeeds, "max_seeds", 16, "with -until: the last number of seeds")
	fs.StringVar(&o.looks, "looks", "4,8,16", "with -until: the numbers of seeds, up to max_seeds; of tasks 6,10,16")
	fs.StringVar(&o.boundary, "boundary", "pocock", "with -until: pocock, or obrien-fleming, which seldom ends early")
	fs.StringVar(&o.budget, "budget", "", "of every arm: steps=1000, or tokens, flops or seconds; and besides "+
		"parameters=800000, to which n_inner moves, or with vary=n_embd the width; by default max_iters steps")
	fs.Var(&o.tune, "tune", "a grid, such as learning_rate=3e-4,1e-3,3e-3, of which every arm takes the best on other "+
		"seeds; may be repeated")
	fs.IntVar(&o.tuningSeeds, "tuning_seeds", o.tuningSeeds, "with -tune: number of seeds of every setting")
}

// studyFlags adds the flags of all studies.
func (o *options) studyFlags(fs *flag.FlagSet) {
	base.PresetFlag(fs, &o.preset)
	seeds := map[string]int{"compare": 5, "tasks": paired.Confirming}
	fs.IntVar(&o.seeds, "seeds", cmp.Or(seeds[o.command], 1), "number of seeds of every arm; with 1 there is no "+
		"verdict, and with fewer than 6 none on tasks")
	fs.Float64Var(&o.target, "target", 0, "validation loss in nats per token: reports when an arm reaches it")
	fs.Float64Var(&o.matters, "matters", 0.01, "smallest difference that matters, whose number of seeds is given; "+
		"of tasks 0.05")
	fs.StringVar(&o.measures, "measures", "", "what to measure besides: "+measureNames()+`; or "all"`)
	fs.StringVar(&o.contexts, "contexts", "64,256,1024,2048", "context lengths of the measure cost")
	fs.StringVar(&o.name, "name", "study", "the question, which heads the report; a directory belongs to one")
}

func (o *options) running(fs *flag.FlagSet) {
	fs.StringVar(&o.dir, "out_dir", "out/lab", "directory of the results, which several processes may share")
	fs.IntVar(&o.jobs, "jobs", 1, "trials at once, which divide the threads")
	fs.StringVar(&o.share, "part", "", "first trials to do, i/n such as 2/4; by default as mpirun or Slurm say")
	fs.StringVar(&o.events, "tensorboard", "", "directory for the curves as event files of TensorBoard")
	fs.BoolVar(&o.report, "report", false, "only write the report of the results in out_dir")
	fs.BoolVar(&o.asJSON, "json", false, "print data instead of a table")
	fs.BoolVar(&o.quick, "quick", false, "a tiny model for a few steps")
	fs.StringVar(&o.file, "study", "", "JSON file of flags by name, overridden by those on the command line")
}

// small gives the flags that were not given the values of a tiny study.
func (o *options) small(fs *program.FlagSet) error {
	o.base.Options.Offer("window", 4)
	return set(fs, o.given, map[string][]string{
		"seeds":   {strconv.Itoa(min(o.seeds, 2))},
		"n_layer": {"2"}, "n_head": {"2"}, "n_embd": {"16"}, "block_size": {"16"}, "batch_size": {"4"},
		"max_iters": {"6"}, "eval_interval": {"3"}, "eval_iters": {"1"}, "contexts": {"16,64"},
	})
}

// set gives flags their values, unless they were given before or the command lacks them.
func set(fs *program.FlagSet, given map[string]bool, values map[string][]string) error {
	for name, list := range values {
		if given[name] || fs.Lookup(name) == nil {
			continue
		}
		for _, value := range list {
			if err := flags.Set(fs.FlagSet, name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle completes the options and checks them.
func (o *options) settle() (err error) {
	if o.command == "transfer" { // the standard parametrization has no base model
		o.baseWidth, o.base.BaseWidth = o.base.BaseWidth, 0
	}
	for _, name := range o.base.Stack.OptionFields(parts.Library()).Names() {
		o.base.Options.Offer(name, o.base.Options.Get(name)) // most arms ignore it
	}
	if o.command == "tasks" && !o.given["looks"] && !o.quick { // fewer seeds decide nothing about accuracies
		o.looks = fmt.Sprintf("%d,10,16", paired.Confirming)
	}
	o.tuning.Seeds = o.tuningSeeds
	if err := o.schedule(); err != nil {
		return err
	}
	if o.limit, err = lab.ParseBudget(o.budget); err != nil {
		return errors.WithMessage(err, "-budget")
	}
	if o.tuning.Grid, err = lab.ParseGrid(o.tune); err != nil {
		return errors.WithMessage(err, "-tune")
	}
	if err := o.early(); err != nil {
		return err
	}
	if o.part, o.processes, err = share(o.share); err != nil {
		return err
	}
	if o.lengths, err = numbers("contexts", o.contexts); err != nil {
		return err
	}
	switch o.command {
	case "scale":
		err = o.sizes()
	case "transfer":
		err = o.rated()
	default:
		o.variants, err = o.chosen()
	}
	if err != nil {
		return err
	}
	if o.command == "tasks" && len(o.tasks) == 0 {
		return errors.New("-tasks: got none, want at least one, such as mad or parity:Length=16")
	}
	if o.published != "" {
		if o.scores, err = readScores(o.published); err != nil {
			return errors.WithMessagef(err, "-published %s", o.published)
		}
	}
	return cmp.Or(
		program.Want(o.seeds >= 1, "seeds", o.seeds, "1 or more"),
		program.Want(o.tuningSeeds >= 1, "tuning_seeds", o.tuningSeeds, "1 or more"),
		program.Want(o.jobs >= 1, "jobs", o.jobs, "1 or more"),
		program.Want(o.matters > 0, "matters", o.matters, "more than 0"),
		program.Want(o.base.MaxIters >= 1, "max_iters", o.base.MaxIters, "1 or more"),
		program.Want(o.dir != "", "out_dir", `""`, "a directory"),
	)
}

// schedule lets the learning rate fall until the last step, unless flags say otherwise. A budget sets the steps and the
// schedule itself.
func (o *options) schedule() error {
	if o.budget == "" || strings.HasPrefix(o.budget, "parameters") {
		if !o.given["lr_decay_iters"] {
			o.base.LRDecayIters = max(o.base.MaxIters, 1)
		}
		if !o.given["warmup_iters"] {
			o.base.WarmupIters = min(o.base.WarmupIters, o.base.LRDecayIters/10)
		}
		return nil
	}
	for _, name := range []string{"max_iters", "lr_decay_iters"} {
		if o.given[name] {
			return errors.Errorf("-%s: follows from -budget %s, want only one of the two", name, o.budget)
		}
	}
	return nil
}
