// Notice writes the file NOTICE: every module that the packages of this module link, with its version, the names of its
// licences, and an attribution where a licence requires one.
//
//	go run ./verify/internal/notice > NOTICE
//
// With the argument texts it adds the lines of copyright and the texts of the licences, which must accompany a program
// that is passed on. It reads them from the module cache. A test compares the file with the output.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
)

func main() {
	var out bytes.Buffer
	err := run(os.Args[1:], &out)
	if err == nil {
		_, err = os.Stdout.Write(out.Bytes())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

func run(args []string, out *bytes.Buffer) error {
	texts := slices.Equal(args, []string{"texts"})
	if len(args) > 0 && !texts {
		return errors.New("got other arguments, want none or texts")
	}
	return write(out, ".", texts)
}
