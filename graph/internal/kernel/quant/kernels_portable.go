//go:build !(amd64 || arm64) || nosimd

package quant

import "github.com/pedestrian-ml/pedestrian/internal/blocks"

// wholeRows returns false: there is no assembly.
func wholeRows(blocks.Type, []float32, []byte, vector, int) bool { return false }

// wholeFours returns false: there is no assembly.
func wholeFours(blocks.Type, []float32, []byte, vector, int) bool { return false }

// direct returns false: there is no assembly.
func direct(bool) bool { return false }

// floatRows returns false: there is no assembly.
func floatRows(blocks.Type, []float32, []byte, []float32) bool { return false }
