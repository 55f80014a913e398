// Package trainer writes a page on which a small GPT trains in the browser: the library itself as WebAssembly, in a
// worker. Write builds it; Package session, below internal, trains the models. The losses and weights are the bits of
// the native program, which
//
//	go run ./examples/book/trainer/hash -steps 100
//
// shows by a hash.
package trainer

import (
	"context"
	"embed"
	"io"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/book/internal/wasm"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

//go:embed *.html *.css *.js
var static embed.FS

// Program is the name of the compressed WebAssembly in the folder that Write fills, and Page the page that loads it.
const (
	Program = "trainer.wasm.gz"
	Page    = "train.html"
)

// largest is the largest size of a file that is read.
const largest = 1 << 26

// Write writes the page, its scripts and its style into a folder that exists, beside the WebAssembly that it builds
// with the go command. It takes about a minute, or seconds if the build cache has the packages. Browsers start workers
// only for pages that a server sends: the page says so if it is opened as a file.
func Write(ctx context.Context, dir string) error {
	files, err := static.ReadDir(".")
	if err != nil {
		return errors.Wrap(err, "trainer")
	}
	for _, f := range files {
		data, err := static.ReadFile(f.Name())
		if err != nil {
			return errors.Wrap(err, "trainer")
		}
		if err := save(filepath.Join(dir, f.Name()), data); err != nil {
			return err
		}
	}
	support, err := wasm.Support(ctx)
	if err != nil {
		return err
	}
	if err := save(filepath.Join(dir, "wasm_exec.js"), support); err != nil {
		return err
	}
	program, err := Build(ctx)
	if err != nil {
		return err
	}
	packed, err := wasm.Compress(program)
	if err != nil {
		return err
	}
	return save(filepath.Join(dir, Program), packed)
}

func save(path string, data []byte) error {
	return errors.Wrap(file.Replace(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}), "trainer")
}
