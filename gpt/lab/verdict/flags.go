package verdict

import (
	"cmp"
	"flag"
)

// Flags adds the flags of a program that asks for verdicts: out_dir, minutes, steps, jobs and quick. The values of p
// are their defaults. Flags does nothing if p or fs is nil.
func (p *Protocol) Flags(fs *flag.FlagSet) {
	if p == nil || fs == nil {
		return
	}
	fs.StringVar(&p.Dir, "out_dir", p.Dir, "directory of trials and reports; the same command continues")
	fs.Float64Var(&p.Minutes, "minutes", 60, "about the longest time of a verdict; below 30 it is a first look")
	fs.IntVar(&p.Plan.Steps, "steps", 0, "steps of a trial on text; 0 means as many as there is time for")
	fs.IntVar(&p.Jobs, "jobs", 0, "trials at once, with one thread each; 0 means one per processor")
	fs.BoolFunc("quick", "see in seconds whether an idea runs; nothing is decided", func(string) error {
		q := Quick()
		q.Steps = cmp.Or(p.Plan.Steps, q.Steps)
		p.Plan = q
		return nil
	})
}
