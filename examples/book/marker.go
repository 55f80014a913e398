package main

import (
	"context"
	"encoding/base64"
	"path/filepath"

	"github.com/pedestrian-ml/pedestrian/examples/book/internal/wasm"
)

// writeMarker builds the program that marks exercises and writes it as marker.js. A page can load a script without a
// server, but not a WebAssembly file. The page that trains brings wasm_exec.js, which marker.js needs.
func (b *book) writeMarker(ctx context.Context, dir string) error {
	program, err := wasm.Build(ctx, "github.com/pedestrian-ml/pedestrian/examples/book/marker")
	if err != nil {
		return err
	}
	packed, err := wasm.Compress(program)
	if err != nil {
		return err
	}
	script := `const markerProgram = "` + base64.StdEncoding.EncodeToString(packed) + "\";\n"
	return saveBytes(filepath.Join(dir, "marker.js"), []byte(script))
}
