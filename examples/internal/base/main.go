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
		cancel(interrupt{(<-signals).(syscall.Signal)})
		os.Exit(interrupt{(<-signals).(syscall.Signal)}.status())
	}()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	var caught interrupt
	if errors.As(err, &caught) {
		os.Exit(caught.status())
	}
	os.Exit(1)
}

// interrupt is the cause of a context that a signal ended.
type interrupt struct{ signal syscall.Signal }

func (i interrupt) Error() string { return i.signal.String() }

func (i interrupt) status() int { return 128 + int(i.signal) }
