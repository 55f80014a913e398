//go:build !(amd64 || arm64) || nosimd

package gemm

// unpack writes rows from … to of a strip to dst.
func (w *Packed) unpack(dst []float32, strip, from, to int) { w.unpackPlain(dst, strip, from, to) }

// row returns false: there is no assembly.
func (t *packedTask) row(int) bool { return false }
