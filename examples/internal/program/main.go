// Package program contains what the examples share apart from models: flags, signals, metrics, progress bars and
// numbers for people.
package program

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pkg/errors"
)

// Main is the main function of an example: it calls run, ends its context at the first SIGINT, SIGTERM or SIGHUP and
// the process at the second, prints the error, and exits with a status. A closed pipe is an error of writing to it and
// ends nothing else. A program started as one of several ranks is refused, because each would write the others' files.
func Main(name string, run Run) { MainOfRanks(name, alone(run)) }

// alone returns a program that refuses to run as one of several ranks.
func alone(run Run) Run {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		if err := dist.Alone(); err != nil {
			return err
		}
		return run(ctx, args, stdout, stderr)
	}
}

// Run is a program without the parts that all programs have in common.
type Run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// MainOfRanks is Main for a program that may be one of several ranks. If the other ranks do not answer, it exits with
// status 75, a temporary failure.
func MainOfRanks(name string, run Run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	catch(signals)
	go func() { end(signals, cancel) }()
	exit(name, Observed(name, run)(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Observed returns a program that says what it is doing when it has been silent for two seconds. Ranks do not: each of
// them would.
func Observed(name string, run Run) Run {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		out, ok := stdout.(*os.File)
		complaints, ok2 := stderr.(*os.File)
		if !ok || !ok2 || dist.Alone() != nil {
			return run(ctx, args, stdout, stderr)
		}
		w, stdout, stderr := newWatch(name, out, complaints)
		defer w.run()()
		return run(ctx, args, stdout, stderr)
	}
}

// MainOfTerminal is Main for a program in which Ctrl-C ends a part of its work: run receives each SIGINT, except those
// that come while it has not read an earlier one. The other signals end its context.
func MainOfTerminal(name string, run func(interrupts <-chan os.Signal) Run) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals, interrupts, others := make(chan os.Signal, 2), make(chan os.Signal, 1), make(chan os.Signal, 2)
	catch(signals)
	go func() {
		for s := range signals {
			to := others
			if s == os.Interrupt {
				to = interrupts
			}
			select {
			case to <- s:
			default:
			}
		}
	}()
	go func() { end(others, cancel) }()
	exit(name, Observed(name, alone(run(interrupts)))(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Interruptible returns a context that ends at the first of the interrupts of MainOfTerminal, or with ctx. The second
// one ends the process.
func Interruptible(ctx context.Context, interrupts <-chan os.Signal) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { end(interrupts, cancel) }()
	return ctx
}

// end ends a context at the first signal and the process at the second.
func end(signals <-chan os.Signal, cancel context.CancelCauseFunc) {
	cancel(Interrupt{(<-signals).(syscall.Signal)})
	os.Exit(Interrupt{(<-signals).(syscall.Signal)}.status())
}

// exit ends the process, with a status, if run has returned an error.
func exit(name string, err error) {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	if errors.Is(err, syscall.EPIPE) { // a closed pipe: as quiet as the signal would be
		os.Exit(128 + 13)
	}
	fmt.Fprintln(os.Stderr, complaint(name, err))
	var caught Interrupt
	if errors.As(err, &caught) {
		os.Exit(caught.status())
	}
	if errors.Is(err, dist.ErrTimeout) {
		os.Exit(75) // EX_TEMPFAIL of sysexits.h
	}
	os.Exit(1)
}

// complaint returns the line that a program prints about an error. A package of the program's name has put it before
// the error already.
func complaint(name string, err error) string {
	return name + ": " + strings.TrimPrefix(Shown(err), name+": ")
}

// Interrupt is the cause of a context that a signal ended.
type Interrupt struct{ Signal syscall.Signal }

// Error returns the signal's name.
func (i Interrupt) Error() string { return i.Signal.String() }

func (i Interrupt) status() int { return 128 + int(i.Signal) }

// Cause returns the cause of ctx if it is done, otherwise err.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
