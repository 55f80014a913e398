package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/lab/paired"
	"github.com/pkg/errors"
)

// list is the value of a flag that may be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, "; ") }

// Get returns the values.
func (l *list) Get() any { return []string(*l) }

// Set adds a value.
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// numbers reads a list of whole numbers, 1 or more, and sorts it.
func numbers(flag, list string) (all []int, err error) {
	for i, w := range words(list) {
		n, err := strconv.Atoi(w)
		if err != nil || n < 1 {
			return nil, errors.Errorf("-%s: element %d: got %q, want a whole number, 1 or more", flag, i+1, w)
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// early sets the plan of -until. The looks end with max_seeds.
func (o *options) early() error {
	for _, name := range []string{"max_seeds", "looks", "boundary"} {
		if o.given[name] && o.until == "" {
			return errors.Errorf("-%s: got it without -until told", name)
		}
	}
	switch {
	case o.until == "":
		return nil
	case o.until != "told":
		return program.OneOf("-until", o.until, "told")
	case o.given["seeds"]:
		return errors.New("-seeds: got it with -until told, which has -max_seeds")
	}
	named := map[string]paired.Boundary{"pocock": paired.Pocock, "obrien-fleming": paired.OBrienFleming}
	if err := program.OneOf("-boundary", o.boundary, "pocock", "obrien-fleming"); err != nil {
		return err
	}
	looks, err := numbers("looks", o.looks)
	if err != nil {
		return err
	}
	if len(looks) > 0 && !o.given["max_seeds"] && o.given["looks"] {
		o.maxSeeds = looks[len(looks)-1]
	}
	if o.maxSeeds < 2 {
		return errors.Errorf("max_seeds: got %d, want 2 or more", o.maxSeeds)
	}
	at, _ := slices.BinarySearch(looks, o.maxSeeds)
	o.seeds, o.plan = o.maxSeeds, paired.Plan{Looks: append(looks[:at:at], o.maxSeeds), Boundary: named[o.boundary]}
	_, err = o.plan.Levels()
	return err
}

// share returns the part of the trials with which this process begins, and the number of processes. They come from
// -part, or from the environment of mpirun, srun or a Slurm array.
func share(flag string) (part, of int, err error) {
	if flag != "" {
		i, n, _ := strings.Cut(flag, "/")
		part, err1 := strconv.Atoi(i)
		of, err2 := strconv.Atoi(n)
		if err1 != nil || err2 != nil || part < 1 || part > of || of > 1<<20 {
			return 0, 0, errors.Errorf("-part: got %q, want i/n with i from 1 to n, such as 2/4", flag)
		}
		return part - 1, of, nil
	}
	number := func(name string) int {
		n, err := strconv.Atoi(os.Getenv(name))
		if err != nil {
			return -1
		}
		return n
	}
	for _, names := range [][2]string{
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"},
	} {
		if part, of := number(names[0]), number(names[1]); part >= 0 && part < of && of > 1 {
			return part, of, nil
		}
	}
	task, first, of := number("SLURM_ARRAY_TASK_ID"), number("SLURM_ARRAY_TASK_MIN"), number("SLURM_ARRAY_TASK_COUNT")
	part = (task - first) / max(1, number("SLURM_ARRAY_TASK_STEP"))
	if task >= 0 && first >= 0 && part >= 0 && part < of {
		return part, of, nil
	}
	return 0, 1, nil
}
