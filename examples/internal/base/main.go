package base

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pkg/errors"
)

// Main is the main function of an example: it runs it, ends its context at the first SIGINT or SIGTERM and the process at
// the second, prints the error, and exits with a status.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		cancel(Interrupt{(<-signals).(syscall.Signal)})
		os.Exit(Interrupt{(<-signals).(syscall.Signal)}.status())
	}()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
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
