//go:build !(amd64 || arm64) || nosimd

package quant

import "github.com/pedestrian-ml/pedestrian/internal/blocks"

// panelBlock is the number of bytes of a block in a panel, which only assembly has.
const panelBlock = 0

// direct returns false: there is no assembly.
func direct(bool) bool { return false }

// roundInto is never called.
func (v *vectors) roundInto(int, []float32) {}

// whole is never called.
func whole(blocks.Type, []float32, []byte, *rounded, int, int, []byte) {}

// floats is never called.
func floats(blocks.Type, []float32, []byte, []float32, int, int, int) int { return 0 }

// tileVectors is the number of vectors in a tile, which only assembly has.
const tileVectors = 1

// tiled returns false: there is no assembly.
func tiled(blocks.Type, int, int) bool { return false }

// wide is never called.
func wide() bool { return false }

// Do is never called.
func (t *turning) Do(int, int) {}

// tiles is never called.
func (t *task) tiles(*scratch, *Part, []byte, []int) int { return 0 }

// wides is never called.
func (t *task) wides(*scratch, *Part, []byte, []int) int { return 0 }
