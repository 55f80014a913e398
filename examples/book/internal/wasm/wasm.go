// Package wasm compiles programs of this module to WebAssembly for a browser. Start with Build.
package wasm

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// largest is the largest size of a file in bytes.
const largest = 1 << 26

// Build compiles a program, given by its import path, with further flags of go build. The working directory must be in
// this module.
func Build(ctx context.Context, program string, flags ...string) ([]byte, error) {
	work, err := os.MkdirTemp("", "wasm")
	if err != nil {
		return nil, errors.Wrap(err, "wasm")
	}
	defer os.RemoveAll(work)
	to := filepath.Join(work, "program.wasm")
	flags = append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", to}, flags...)
	if _, err := Go(ctx, append(flags, program)...); err != nil {
		return nil, err
	}
	return file.Read(to, largest)
}

// Go runs a go command for a browser as the target and returns its output. GOWASM allows two instructions that make
// programs smaller; every browser that has DecompressionStream has them.
func Go(ctx context.Context, arguments ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=satconv,signext", "CGO_ENABLED=0", "GOFLAGS=")
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.Output()
	return out, errors.Wrapf(err, "go %s: %s", arguments[0], strings.TrimSpace(complaints.String()))
}

// Compress returns data in the form of gzip.
func Compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, errors.Wrap(err, "wasm")
	}
	if _, err := z.Write(data); err != nil {
		return nil, errors.Wrap(err, "wasm")
	}
	if err := z.Close(); err != nil { // which writes the end
		return nil, errors.Wrap(err, "wasm")
	}
	return out.Bytes(), nil
}

// Support returns wasm_exec.js of the Go distribution, which a page loads before a program.
func Support(ctx context.Context) ([]byte, error) {
	root, err := Go(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return file.Read(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"), largest)
}
