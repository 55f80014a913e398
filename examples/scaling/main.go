// Scaling estimates the benefit of several machines, for a model and a network: the time of a step, and the fraction
// of a machine's time that is spent computing. The network is one of four, or is measured on two machines.
//
//	go run ./examples/scaling                                      # char on 10 Gbit/s Ethernet; a table and a plot
//	go run ./examples/scaling -preset gpt2 -micro_ms 567 -network 100gbit
//	mpirun -H host1,host2 -np 2 ./scaling -measure                 # built with -tags mpi: prints a value for
//
// -measured
//
//	go run ./examples/scaling -preset baby -micro_ms 345 -measured 0.26:0.9,3.3:28,43:372
//
// It trains nothing: there are no schedules, averages or validation.
//
// train.sbatch and mpijob.json start examples/tinyshakespeare on a cluster with Slurm, and with Kubeflow on Kubernetes.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/base"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

func main() { program.MainOfRanks("scaling", run) }

// charMS is the time of a micro-batch of char on two threads, the first row of examples/bench/RESULTS.md.
const charMS = 10.3

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := program.Flags("scaling", stderr)
	var preset, name, measured, plot string
	var microMS float64
	var micros int
	var measure bool
	fs.Group("scaling", "the model and the machines", func(fs *flag.FlagSet) {
		base.PresetFlag(fs, &preset)
		fs.Float64Var(&microMS, "micro_ms", charMS, "milliseconds that a machine computes for a micro-batch, as "+
			"measured "+
			"by examples/bench; the default is of shakespeare")
		fs.IntVar(&micros, "gradient_accumulation_steps", 64, "micro-batches in a step, of all machines together")
		fs.StringVar(&name, "network", "10gbit", "between the machines: "+strings.Join(networkNames(), ", "))
		fs.StringVar(&measured, "measured", "",
			"all-reduces between two machines instead, MB:ms,MB:ms,…, at least two")
		fs.StringVar(&plot, "plot", "out/scaling.png", "file of the picture; empty means none")
		fs.BoolVar(&measure, "measure", false, "as one of two ranks, measure all-reduces for -measured")
	})
	fs.Old("shape", "preset")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if measure {
		return measureSums(stdout)
	}
	if err := dist.Alone(); err != nil {
		return err
	}
	c := gpt.Shakespeare()
	if preset = cmp.Or(preset, "char"); preset != "char" && preset != "shakespeare" {
		if err := base.Preset(preset, &c); err != nil {
			return err
		}
		if !fs.Given()["micro_ms"] {
			return errors.Errorf("-micro_ms: got none with -preset %s, want the time that examples/bench -preset "+
				"%[1]s "+
				"measures: the default of %v ms is of shakespeare", preset, charMS)
		}
	}
	if c.VocabSize == 0 {
		c.VocabSize = 65 // the characters of tinyshakespeare
	}
	net, ok := networks()[name]
	if !ok {
		return program.OneOf("-network", name, networkNames()...)
	}
	if measured != "" {
		var err error
		if net, err = fit(measured); err != nil {
			return errors.Wrap(err, "-measured")
		}
	}
	_, trained := c.Count()
	j := job{Bytes: 4 * float64(trained), Micro: microMS / 1e3, Micros: micros, Tokens: c.BatchSize * c.BlockSize}
	if err := j.check(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %s parameters, %s MB of gradients, %d micro-batches of %v; network: %v\n", preset,
		program.Thousands(trained), program.Significant(j.Bytes/1e6, 4), j.Micros, time.Duration(microMS*1e6), net)
	fmt.Fprintf(stdout, "%9s %12s %12s %12s %12s %12s\n",
		"machines", "all-reduce", "not hidden", "step", "tokens/s", "efficiency")
	for _, n := range j.machines() {
		ms := func(seconds float64) string { return program.Significant(1e3*seconds, 4) + " ms" }
		speed := program.Thousands(int(float64(j.Tokens*j.Micros) / j.step(n, net)))
		fmt.Fprintf(stdout, "%9d %12s %12s %12s %12s %11.1f%%\n", n, ms(net.allReduce(n, j.Bytes)),
			ms(j.exposed(n, net)), ms(j.step(n, net)), speed, 100*j.efficiency(n, net))
	}
	if plot == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(plot), 0o777); err != nil {
		return err
	}
	fmt.Fprintln(stdout, "drawn to", plot)
	return file.Replace(plot, func(w io.Writer) error { return chart(w, preset, j, net) })
}
