package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// writeMarker builds the program that marks exercises and writes it as marker.js, together with the Go distribution's
// wasm_exec.js. A script can be loaded without a server, and a WebAssembly file cannot.
func (b *book) writeMarker(ctx context.Context, dir string) error {
	work, err := os.MkdirTemp("", "book")
	if err != nil {
		return errors.Wrap(err, "book")
	}
	defer os.RemoveAll(work)
	name := filepath.Join(work, "marker.wasm")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", name,
		"./examples/book/marker")
	build.Dir = b.root
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return errors.Wrapf(err, "building the program that marks exercises: %s", bytes.TrimSpace(said))
	}
	program, err := file.Read(name, 1<<26)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return errors.Wrap(err, "book")
	}
	if _, err := z.Write(program); err != nil {
		return errors.Wrap(err, "book")
	}
	if err := z.Close(); err != nil {
		return errors.Wrap(err, "book")
	}
	script := `const markerProgram = "` + base64.StdEncoding.EncodeToString(packed.Bytes()) + "\";\n"
	if err := saveBytes(filepath.Join(dir, "marker.js"), []byte(script)); err != nil {
		return err
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return errors.Wrap(err, "go env GOROOT")
	}
	support, err := file.Read(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "wasm", "wasm_exec.js"), largest)
	if err != nil {
		return err
	}
	return saveBytes(filepath.Join(dir, "wasm_exec.js"), support)
}
