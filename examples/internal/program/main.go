// Package program is what the examples share that is no model: flags, signals, files that are written whole, progress
// bars and numbers for people.
package program

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/pkg/errors"
)

// Main is the main function of an example: it runs it, ends its context at the first SIGINT, SIGTERM or SIGHUP and the
// process at the second, prints the error, and exits with a status. A closed pipe is an error of who writes to it, and
// ends nothing else.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	catch(signals)
	go func() {
		cancel(Interrupt{(<-signals).(syscall.Signal)})
		os.Exit(Interrupt{(<-signals).(syscall.Signal)}.status())
	}()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	if errors.Is(err, syscall.EPIPE) { // nobody reads: as quiet as the signal would be
		os.Exit(128 + 13)
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", name, Shown(err))
	var caught Interrupt
	if errors.As(err, &caught) {
		os.Exit(caught.status())
	}
	os.Exit(1)
}

// Interrupt is the cause of a context that a signal ended.
type Interrupt struct{ Signal syscall.Signal }

// Error is the signal's name.
func (i Interrupt) Error() string { return i.Signal.String() }

func (i Interrupt) status() int { return 128 + int(i.Signal) }

// Cause is the signal that ended ctx, or else err.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
