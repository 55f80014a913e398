package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// hash returns the SHA-256, in hexadecimal, of the bits of every loss and every norm of a gradient so far, and of the
// weights now: in float64, little-endian, in the order of the model.
func (r *run) hash() string {
	h := sha256.New()
	write := func(list []float64) {
		for _, x := range list {
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	write(r.losses)
	write(r.norms)
	for _, p := range r.Model.Params() {
		h.Write([]byte(p.Name()))
		write(p.Tensor().Floats())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Hash trains a Choice for some steps and returns the hash of the run.
func Hash(c Choice, steps int) (string, error) {
	r, err := start(c)
	if err != nil {
		return "", err
	}
	if _, err := r.steps(steps); err != nil {
		return "", err
	}
	return r.hash(), nil
}
