package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"

	"github.com/pkg/errors"
)

// report prints answers, one a line, and counts those that are not as they should be.
type report struct {
	out            io.Writer
	passed, failed int
}

// say prints a line: what was asked, and what came out beside what should have.
func (r *report) say(ok bool, what, got, want string) {
	verdict := "passed"
	if r.passed++; !ok {
		verdict = "FAILED"
		r.passed, r.failed = r.passed-1, r.failed+1
	}
	fmt.Fprintf(r.out, "%s  %s: got %s, want %s\n", verdict, what, got, want)
}

// skip says what cannot be asked here.
func (r *report) skip(what, why string) {
	fmt.Fprintf(r.out, "        %s: not checked, %s\n", what, why)
}

// equal says whether two are the same.
func equal[T comparable](r *report, what string, got, want T) {
	r.say(got == want, what, fmt.Sprint(got), fmt.Sprint(want))
}

// near says whether a number is within a distance of another.
func (r *report) near(what string, got, want, distance float64) {
	r.say(math.Abs(got-want) <= distance, what, fmt.Sprintf("%.6f", got), fmt.Sprintf("%.6f ± %.1g", want, distance))
}

// failure is what went wrong where there should have been an answer: a line that has failed.
func (r *report) failure(what string, err error) { r.say(false, what, err.Error(), "an answer") }

// tokens says whether ids are as many as is known, and the same.
func (r *report) tokens(what string, ids []int, want tokenized) {
	h := sha256.New()
	var two [2]byte
	for _, id := range ids {
		binary.LittleEndian.PutUint16(two[:], uint16(id))
		h.Write(two[:])
	}
	got := tokenized{len(ids), hex.EncodeToString(h.Sum(nil))}
	r.say(got == want, what, got.String(), want.String())
}

func (t tokenized) String() string { return fmt.Sprintf("%d tokens, sha256 %s", t.tokens, t.sha256) }

// end sums up: an error where a line has failed.
func (r *report) end() error {
	fmt.Fprintf(r.out, "%d of %d passed\n", r.passed, r.passed+r.failed)
	if r.failed > 0 {
		return errors.Errorf("%d of %d answers are not as they should be", r.failed, r.passed+r.failed)
	}
	return nil
}
