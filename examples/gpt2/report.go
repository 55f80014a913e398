package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"

	"github.com/pedestrian-ml/pedestrian/verify/known"
	"github.com/pkg/errors"
)

// report prints results, one per line, and counts the failed ones.
type report struct {
	out            io.Writer
	passed, failed int
}

// say prints a line: the check, its result, and the expected result.
func (r *report) say(ok bool, what, got, want string) {
	verdict := "passed"
	if r.passed++; !ok {
		verdict = "FAILED"
		r.passed, r.failed = r.passed-1, r.failed+1
	}
	fmt.Fprintf(r.out, "%s  %s: got %s, want %s\n", verdict, what, got, want)
}

// skip prints a check that is not possible here, with the reason.
func (r *report) skip(what, why string) {
	fmt.Fprintf(r.out, "        %s: not checked, %s\n", what, why)
}

// equal checks that two values are equal.
func equal[T comparable](r *report, what string, got, want T) {
	r.say(got == want, what, fmt.Sprint(got), fmt.Sprint(want))
}

// near checks that a number is within a distance of another.
func (r *report) near(what string, got, want, distance float64) {
	r.say(math.Abs(got-want) <= distance, what, fmt.Sprintf("%.6f", got), fmt.Sprintf("%.6f ± %.1g", want, distance))
}

// failure prints an error in place of a result, as a failed line.
func (r *report) failure(what string, err error) { r.say(false, what, err.Error(), "an answer") }

// tokens checks the number and the hash of ids.
func (r *report) tokens(what string, ids []int, want known.Tokenized) {
	h := sha256.New()
	var two [2]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint16(two[:], uint16(id))
		h.Write(two[:])
	}
	got := known.Tokenized{Tokens: len(ids), SHA256: hex.EncodeToString(h.Sum(nil))}
	r.say(got == want, what, got.String(), want.String())
}

// end prints the numbers, and returns an error if a line has failed.
func (r *report) end() error {
	fmt.Fprintf(r.out, "%d of %d passed\n", r.passed, r.passed+r.failed)
	if r.failed > 0 {
		return errors.Errorf("%d of %d results are wrong", r.failed, r.passed+r.failed)
	}
	return nil
}
