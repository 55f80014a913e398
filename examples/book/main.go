// Book writes the book of the library: one path from a token to a trained transformer, as a folder of pages for a
// browser, which need no network.
//
//	go run ./examples/book                  # writes the folder out/book; open its index.html
//	go run ./examples/book -out_dir pages   # another folder
//	go run ./examples/book -serve :8080     # writes it and serves it at http://localhost:8080
//
// Each step of a derivation is executed before its page is written, each picture shows numbers that were computed for
// it, and each exercise is marked without rounding. The program reads the sources of the library and must run inside
// the repository.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
	"github.com/pedestrian-ml/pedestrian/verify/index"
	"github.com/pkg/errors"
)

func main() { program.Main("book", run) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	dir, address := "out/book", ""
	fs := program.Flags("book", stderr)
	fs.Group("output", "the output", func(fs *flag.FlagSet) {
		fs.StringVar(&dir, "out_dir", dir, "the folder of the pages")
		fs.StringVar(&address, "serve", "", "serve the pages at this port, such as :8080, or host and port")
	})
	fs.Often("out_dir serve")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if address == "" {
		return write(ctx, dir, stdout)
	}
	l, host, err := serve.Listen(address)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := write(ctx, dir, stdout); err != nil {
		return err
	}
	server := &http.Server{
		Handler:           serve.Guard(host, serve.Text, serve.NoBody(http.FileServer(http.Dir(dir)))),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
	}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Fprintf(stdout, "serving http://%s until Ctrl-C\n", l.Addr())
	defer program.Waiting(stdout)()
	if err := server.Serve(serve.Limit(l, serve.Connections())); !errors.Is(err, http.ErrServerClosed) {
		return errors.Wrap(err, "-serve")
	}
	return nil
}

// write writes the book to a folder, with a line for each page.
func write(ctx context.Context, dir string, stdout io.Writer) error {
	root, err := index.Root()
	if err != nil {
		return err
	}
	b, err := read(root)
	if err != nil {
		return err
	}
	begin := time.Now()
	for i, c := range b.Chapters {
		if err := ctx.Err(); err != nil {
			return program.Cause(ctx, err)
		}
		if err := b.writeChapter(dir, i); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%2d of %d  %s\n", i+1, len(b.Chapters), c.Title)
	}
	fmt.Fprintln(stdout, "compiling the programs of the pages, which takes a minute or two the first time")
	if err := b.writeRest(ctx, dir); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "saved %s in %.0f s\n", filepath.Join(dir, "index.html"), time.Since(begin).Seconds())
	return nil
}
