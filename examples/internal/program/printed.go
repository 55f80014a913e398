package program

import (
	"bytes"
	"io"
)

// Printed calls run, which writes files and prints, and passes on the printed text afterwards: the files are written
// even if the output is not read to its end, as before head. Text printed before an error is passed on too.
func Printed(out io.Writer, run func(w io.Writer) error) error {
	var printed bytes.Buffer
	err := run(&printed)
	if _, unread := printed.WriteTo(out); err == nil {
		err = unread
	}
	return err
}
