package trainer

import (
	"bytes"
	"compress/gzip"
	"testing"
)

// The program of the page has at most 4 MB, compressed.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the WebAssembly, which takes a minute")
	}
	wasm, err := Build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	z.Write(wasm)
	z.Close()
	const most = 4_000_000
	t.Logf("%d bytes, %d compressed", len(wasm), b.Len())
	if b.Len() > most {
		t.Errorf("got %d bytes, want at most %d", b.Len(), most)
	}
}
