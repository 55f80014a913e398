package gguf

import (
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/fuzzed"
)

// FuzzGGUF checks that the reader never panics, and that everything in an accepted file can be read.
func FuzzGGUF(f *testing.F) {
	f.Add(encode(f, sampleKeys(), sampleEntries()))
	f.Add(encode(f, nil, nil))
	f.Add([]byte(begin(1, 0).tensor("k", Q6_K, 0, 256).padded(32).bytes(210)))
	f.Add([]byte(begin(2, 0).tensor("k", Q4_K, 0, 256).tensor("l", Q5_0, 160, 32).padded(32).bytes(182)))
	for _, data := range hostile() {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var file *File
		var err error
		fuzzed.Bounded(t, fuzzed.Linear(len(data)), 10*time.Second, func() { file, err = Read(data) })
		if err == nil {
			touch(t, file)
		}
	})
}
