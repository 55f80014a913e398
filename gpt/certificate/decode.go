package certificate

import (
	"bytes"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

const (
	maxName = 200 // bytes of the longest name of a text or a kind of tokenizer
	maxCode = 100 // largest number of parts and hooks of the user
)

// Decode reads a certificate, of at most 1 MiB. An edited part or link is an error that names it: its sum does not fit.
// So are links that are not at the steps where a chain has them.
func Decode(data []byte) (*Certificate, error) {
	if len(data) > maxSize {
		return nil, errors.Errorf("got %d bytes, want at most %d", len(data), maxSize)
	}
	var d document
	if err := field.UnmarshalStrict(data, &d); err != nil {
		return nil, err
	}
	if d.Format != format {
		return nil, errors.Errorf("format: got %s, want %q", field.Clip(d.Format), format)
	}
	if d.About != about {
		return nil, errors.Errorf("about: got %s, want %q", field.Clip(d.About), about)
	}
	for _, p := range d.parts() {
		if sum, err := p.compute(); err != nil || sum != *p.sum {
			return nil, errors.Errorf("%s: edited: its sum is %s, want %s as written", p.name, sum, field.Clip(*p.sum))
		}
	}
	if err := d.checkSeals(); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	again, err := d.lines()
	if err != nil {
		return nil, err
	}
	if err := sameLines(data, again); err != nil {
		return nil, err
	}
	c := &Certificate{
		Run: d.Run, Builds: d.Builds, LeftOut: d.LeftOut, From: d.From, Links: d.Links, SHA256: d.SHA256,
	}
	if len(c.Code) == 0 {
		c.Code = nil
	}
	return c, nil
}

// sameLines returns an error that names the first line that is not as Encode writes it.
func sameLines(data, again []byte) error {
	got, want := bytes.Split(data, []byte{'\n'}), bytes.Split(again, []byte{'\n'})
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got) || i >= len(want):
			return errors.Errorf("got %d lines, want %d", len(got), len(want))
		case !bytes.Equal(got[i], want[i]):
			return errors.Errorf("line %d: got %s, want the form %s", i+1, field.Clip(string(got[i])),
				field.Clip(string(want[i])))
		}
	}
	return nil
}

// checkSeals returns an error that names the first link whose sum does not fit the links up to it.
func (d *document) checkSeals() error {
	seals, err := d.seals()
	if err != nil {
		return err
	}
	for i, l := range d.Links {
		if sum := hex.EncodeToString(seals[i+1][:])[:sumDigits]; sum != l.Sum {
			return errors.Errorf("link of step %d: edited, or the link before it was removed: its sum is %s, "+
				"want %s as written", l.Step, sum, field.Clip(l.Sum))
		}
	}
	if sum := hex.EncodeToString(seals[len(seals)-1][:]); sum != d.SHA256 {
		return errors.Errorf("links: cut after step %d, or the sha256 was edited: it is %s, want %s as written",
			d.last(), sum, field.Clip(d.SHA256))
	}
	return nil
}

func (d *document) last() int {
	if n := len(d.Links); n > 0 {
		return d.Links[n-1].Step
	}
	return d.From
}

// check returns an error unless d has the form of a certificate.
func (d *document) check() error {
	if err := d.Run.check(); err != nil {
		return err
	}
	if len(d.Builds) == 0 || len(d.Builds) > maxBuilds || d.LeftOut < 0 || d.LeftOut > field.MaxSize {
		return errors.Errorf("builds: got %d and %d left out, want 1 to %d", len(d.Builds), d.LeftOut, maxBuilds)
	}
	if d.From < 0 || d.From > field.MaxSize || d.last() > field.MaxSize {
		return errors.Errorf("links: got the steps %d to %d, want 0 to %d", d.From, d.last(), field.MaxSize)
	}
	for i, b := range d.Builds {
		if b.From < d.From || b.From > d.last() || i > 0 && b.From < d.Builds[i-1].From {
			return errors.Errorf("builds: got one from step %d on in place %d, want %d to %d, in their order",
				b.From, i, d.From, d.last())
		}
	}
	return d.checkLinks()
}

// check returns an error unless r is a run of this library.
func (r Run) check() error {
	switch {
	case r.Kind != "" && r.Kind != Decoder && r.Kind != Pairs:
		return errors.Errorf("kind: got %s, want %s, %s or nothing", field.Clip(r.Kind), Decoder, Pairs)
	case len(r.Config) == 0 || r.Config[0] != '{' && r.Config[0] != '[':
		return errors.Errorf("config: got %s, want an object, or a list of facts", field.Clip(string(r.Config)))
	case len(r.Text) > maxName || len(r.Tokenizer.Kind) > maxName:
		return errors.Errorf("text or tokenizer: got names of %d and %d bytes, want at most %d", len(r.Text),
			len(r.Tokenizer.Kind), maxName)
	case r.Tokenizer.Size < 0 || r.Tokenizer.Size > field.MaxSize:
		return errors.Errorf("tokenizer: got %d tokens, want 0 to %d", r.Tokenizer.Size, field.MaxSize)
	case !isHash(r.Tokenizer.SHA256, true) || !isHash(r.Base, true):
		return errors.Errorf("tokenizer or base: got %s and %s, want a SHA-256 or nothing",
			field.Clip(r.Tokenizer.SHA256), field.Clip(r.Base))
	case len(r.Code) > maxCode:
		return errors.Errorf("code: got %d parts and hooks, want at most %d", len(r.Code), maxCode)
	}
	for _, c := range r.Code {
		if c.Covered() && !isHash(c.SHA256, false) {
			return errors.Errorf("code: %s: got %s, want a SHA-256 or %q", field.Clip(c.Name), field.Clip(c.SHA256),
				notCovered)
		}
	}
	return nil
}

// isHash reports whether s is a SHA-256 in hexadecimal.
func isHash(s string, orEmpty bool) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" || orEmpty && s == ""
}

// checkLinks returns an error unless there is a link at every step at which a chain has one, and otherwise only at
// checkpoints.
func (d *document) checkLinks() error {
	at, saved := d.From-1, 0
	for _, l := range d.Links {
		switch {
		case l.Step <= at:
			return errors.Errorf("link of step %d: stands after the link of step %d", l.Step, at)
		case math.IsNaN(l.Loss+l.Norm) || math.IsInf(l.Loss, 0) || math.IsInf(l.Norm, 0):
			return errors.Errorf("link of step %d: got loss %v, norm %v, want finite numbers", l.Step, l.Loss, l.Norm)
		case !isHash(l.Digest, false):
			return errors.Errorf("link of step %d: digest: got %s, want a SHA-256", l.Step, field.Clip(l.Digest))
		case l.State == State{} && !regular(d.From, d.last(), l.Step) && l.Step != d.last():
			return errors.Errorf("link of step %d: got no hash of weights, want one at a checkpoint", l.Step)
		}
		for _, hash := range []string{l.Weights, l.Moments, l.States, l.Draws} {
			if !isHash(hash, true) {
				return errors.Errorf("link of step %d: got %s, want a SHA-256", l.Step, field.Clip(hash))
			}
		}
		if l.State != (State{}) {
			saved++
		}
		if missing := nextRegular(d.From, d.last(), max(at, d.From)); missing < l.Step {
			return errors.Errorf("link of step %d is missing", missing)
		}
		at = l.Step
	}
	if saved > maxSaved {
		return errors.Errorf("links: got %d of checkpoints, want at most %d", saved, maxSaved)
	}
	if slices.ContainsFunc(d.Links, func(l Link) bool { return l.Step == d.From && l.Digest != zero }) {
		return errors.Errorf("link of step %d: digest: got another than of no steps", d.From)
	}
	return nil
}
