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
