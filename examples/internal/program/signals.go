//go:build !wasm

package program

import (
	"os"
	"os/signal"
	"syscall"
)

// catch delivers the signals that end a program. A SIGHUP that is ignored, as by nohup, stays ignored.
func catch(signals chan<- os.Signal) {
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
}
