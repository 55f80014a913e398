// Notice writes the file NOTICE: every module that the packages of this module link, with version, licences, copyright
// and attribution, and the texts of the licences, which must accompany a program that is passed on.
//
//	go run ./verify/internal/notice > NOTICE
//
// It reads the licences from the module cache. A test compares the file with its output.
package main

import (
	"bytes"
	"fmt"
	"os"
)

func main() {
	var out bytes.Buffer
	err := write(&out, ".")
	if err == nil {
		_, err = os.Stdout.Write(out.Bytes())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}
