package program

import (
	"bytes"
	"io"
)

// Printed calls run, which writes files and prints, and passes on what it printed afterwards: where nobody reads out to
// its end, as behind head, the files are written all the same. What is printed before an error is passed on too.
func Printed(out io.Writer, run func(w io.Writer) error) error {
	var printed bytes.Buffer
	err := run(&printed)
	if _, unread := printed.WriteTo(out); err == nil {
		err = unread
	}
	return err
}
