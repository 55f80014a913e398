package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/flagtest"
)

// Every flag has an effect or is refused by name, and so are meaningless numbers.
func TestEveryFlag(t *testing.T) {
	data := verses(t)
	other, file := filepath.Join(t.TempDir(), "other.txt"), filepath.Join(t.TempDir(), "study.json")
	put(t, other, strings.Repeat("A text, and another than the first one was.\n", 20))
	put(t, file, `{"seeds": 3}`)
	const mixture = "of mlp moe, which has no activation of the arm; tried with tinyshakespeare"
	p := flagtest.Program{
		Run: untimed, Name: "lab compare",
		Args: func(dir string) []string {
			return append(flagtest.Small(), "-quick", "-data", data, "-arms", "activation=relu", "-out_dir", dir)
		},
		Values: flagtest.With(flagtest.Network(), map[string]string{
			"arms": "norm=rmsnorm", "preset": "baby", "parts": "rope", "cross": "true with " +
				"-arms norm=rmsnorm", "data": other,
			"seeds":     "3",
			"tokenizer": "words", "until": "told", "max_seeds": "5 with -until told",
			"looks":    "3 with -until told -looks 3,4",
			"boundary": "obrien-fleming with -until told", "budget": "steps=3", "tune": "learning_rate=0.1,0.2",
			"tuning_seeds": "2 with -tune learning_rate=0.1,0.2", "target": "100", "matters": "0.5",
			"measures": "memory",
			"contexts": "4 with -measures cost", "name": "another", "study": file, "json": "true", "part": "2/2",
			"min_lr": "0.19", "max_iters": "9", "lr_decay_iters": "3",
		}),
		Unseen: map[string]string{
			"num_experts":             mixture,
			"router_bias_update_rate": mixture,
			"num_experts_per_tok":     mixture,
			"n_shared_experts":        mixture,
			"norm_topk_prob":          mixture,
			"scoring_func":            mixture,
			"router_aux_loss_coef":    mixture,
			"swiglu_limit":            mixture,
			"report":                  "of a directory with results",
			"jobs":                    "the same bits",
			"tensorboard":             "another directory",
			"quick":                   "its sizes are given as flags",
			"threads":                 "the same bits",
			"kernels":                 "the same but for rounding",
			"recompute":               "the same bits",
			"out_dir":                 "the directory in which the test looks",
			"memory_limit":            "a limit that the run stays below",
			"shard_optimizer":         "of several ranks",
		},
	}
	p.Check(t)
	p.Refuse(t)
	p.Unread(t)
	p.Closed(t)
	p.Help(t)
	for _, name := range []string{"tasks", "scale", "transfer", "replay"} {
		flagtest.Program{Run: run, Name: "lab " + name}.Help(t)
	}
}

// untimed is run without the times that differ from run to run, in its output and its files.
func untimed(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var out strings.Builder
	err := run(ctx, args, &out, stderr)
	time := regexp.MustCompile(
		`(?m) +[\d.]+$|[\d.,]+ (ns/token|tokens/s)|, [\d.]+ s\b|"seconds": .*|"ms_per_step": .*|"Seconds": .*`,
	)
	_, failed := io.WriteString(stdout, time.ReplaceAllString(out.String(), ""))
	for i, a := range args {
		if a == "-out_dir" {
			for _, name := range []string{"report.md", "timings.jsonl", "results.csv", "page.html", "results"} {
				if err := os.RemoveAll(filepath.Join(args[i+1], name)); err != nil {
					return err
				}
			}
		}
	}
	if err != nil {
		return err
	}
	return failed
}

// A typing mistake is answered by what was meant, or by what is wanted.
func TestTypingMistakes(t *testing.T) {
	flagtest.Program{Run: run}.Mistakes(t, [][2]string{
		{"compare -arms modren", "did you mean modern?"},
		{"compare -arms norm=rmsnorm;nrom=dyt", `nrom=dyt: got "nrom", want the name of a field of the ` +
			`configuration; did you mean norm?`},
		{"compare -parts atention", "did you mean attention?"},
		{"compare -measures cost,memry", "did you mean memory?"},
		{"compare -budget token=3", "did you mean tokens?"},
		{"tasks -tasks parity:Train=8;partiy", `tasks: got "partiy", want one of`},
		{"tasks -tasks parity:Train=8;partiy", "did you mean parity?"},
		{"compare -until told -boundary pocok", "did you mean pocock?"},
		{"scale -sizes 32x1,64", `element 2: got "64", want WIDTHxDEPTH`},
		{"transfer -rates 1e-3,x", `element 2: got "x", want a number above 0`},
		{"compar", "did you mean compare?"},
	})
}
