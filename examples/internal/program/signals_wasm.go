package program

import (
	"os"
	"os/signal"
	"syscall"
)

func catch(signals chan<- os.Signal) { signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM) }
