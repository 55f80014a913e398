// Documents runs the commands that documents name, in a clone of the repository, so that no figure rests on a command
// that fails.
//
//	go run ./verify/internal/documents [-limit 5m] README.md TRUST.md …
//
// It finds the commands in the text. A command that takes longer than the limit is interrupted, as by Ctrl-C, and must
// then end within half a minute. One that wants a program or a folder that is missing is skipped, and the report says
// so. It runs where coreutils and bash are installed.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	limit := flag.Duration("limit", 5*time.Minute, "time after which a command is interrupted")
	list := flag.Bool("list", false, "print the commands and do not run them")
	flag.Parse()
	if err := run(flag.Args(), *limit, *list); err != nil {
		fmt.Fprintln(os.Stderr, "documents:", err)
		os.Exit(1)
	}
}
