package certificate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pkg/errors"
)

// Replay compares the steps of a run that is done again with a certificate.
type Replay struct {
	certificate *Certificate
	step        int // the last one
	equal       int // the step of the last link that was compared
	digest      [sha256.Size]byte
	links       int
	states      int
}

// Replay returns the comparison of the steps after the given one, at which the chain begins or has a link.
func (c *Certificate) Replay(from int) (*Replay, error) {
	r := &Replay{certificate: c, step: from, equal: from}
	if c == nil {
		return nil, errors.New("replay: got no certificate")
	}
	if from == c.From {
		return r, nil
	}
	l, ok := c.At(from)
	if !ok {
		return nil, errors.Errorf("replay: got a beginning at step %d, want one of a link", from)
	}
	if _, err := hex.Decode(r.digest[:], []byte(l.Digest)); err != nil {
		return nil, errors.Wrapf(err, "replay: link of step %d: digest", from)
	}
	return r, nil
}

// Difference is the first difference between a certificate and its replay.
type Difference struct {
	Step      int    // at which it was found
	Since     int    // up to this step everything was equal
	Field     string // such as "loss" or "weights"
	Want, Got string // in the certificate, and in the replay
}

// Error returns the step and both values.
func (d *Difference) Error() string {
	if d == nil {
		return "no difference"
	}
	where := fmt.Sprintf("step %d", d.Step)
	if d.Since < d.Step-1 {
		where += fmt.Sprintf(" (equal up to step %d; between them the certificate has no link)", d.Since)
	}
	return fmt.Sprintf("%s: %s: %s in the certificate, %s here", where, d.Field, d.Want, d.Got)
}

var errNoReplay = errors.New("replay: got nil, want one of Certificate.Replay")

// Compared returns the number of links and of states that were equal.
func (r *Replay) Compared() (links, states int) {
	if r == nil {
		return 0, 0
	}
	return r.links, r.states
}

// Step adds the step after the last one. If there is a link, and loss, norm or the digest of all steps so far differ in
// a bit, the error is a Difference.
func (r *Replay) Step(step int, loss, norm float64) error {
	if r == nil || r.certificate == nil {
		return errNoReplay
	}
	if step != r.step+1 {
		return errors.Errorf("replay: got step %d, want step %d", step, r.step+1)
	}
	r.digest = follow(r.digest, step, loss, norm)
	r.step = step
	l, ok := r.certificate.At(step)
	if !ok {
		return nil
	}
	d := &Difference{Step: step, Since: r.equal}
	digest := hex.EncodeToString(r.digest[:])
	switch {
	case math.Float64bits(loss) != math.Float64bits(l.Loss):
		d.Field, d.Want, d.Got = "loss", Bits(l.Loss), Bits(loss)
	case math.Float64bits(norm) != math.Float64bits(l.Norm):
		d.Field, d.Want, d.Got = "norm of the gradient", Bits(l.Norm), Bits(norm)
	case digest != l.Digest:
		d.Field, d.Want, d.Got = "digest of the losses and norms", l.Digest, digest
	default:
		r.links++
		r.equal = step
		return nil
	}
	return d
}

// Bits returns a number for a message, with its bits.
func Bits(x float64) string { return fmt.Sprintf("%v (0x%016x)", x, math.Float64bits(x)) }

// State compares the files of a checkpoint at the last step with the link there, if it has hashes.
func (r *Replay) State(s State) error {
	if r == nil || r.certificate == nil {
		return errNoReplay
	}
	l, ok := r.certificate.At(r.step)
	if !ok || l.State == (State{}) {
		return nil
	}
	for _, f := range []struct{ name, want, got string }{
		{"weights", l.Weights, s.Weights}, {"moments", l.Moments, s.Moments}, {"states", l.States, s.States},
		{"generator of batches", l.Draws, s.Draws},
	} {
		if f.want != f.got {
			return &Difference{r.step, r.step, f.name, "sha256 " + f.want, "sha256 " + f.got}
		}
	}
	r.states++
	return nil
}

// Compare returns the first difference between the numbers of two certificates of the same run at the steps at which
// both have a link, and the number of these. Builds may differ.
func (c *Certificate) Compare(other *Certificate) (links int, err error) {
	if c == nil || other == nil {
		return 0, errors.New("compare: got no certificate")
	}
	if c.From != other.From {
		return 0, errors.Errorf("compare: got chains from the steps %d and %d on", c.From, other.From)
	}
	for _, f := range []struct{ name, want, got string }{
		{"kind", c.Kind, other.Kind}, {"config", c.unlike(other), other.unlike(c)},
		{"text", c.Text, other.Text}, {"tokenizer", c.Tokenizer.SHA256, other.Tokenizer.SHA256},
		{"base", c.Base, other.Base}, {"code", fmt.Sprint(c.Code), fmt.Sprint(other.Code)},
	} {
		if f.want != f.got {
			return 0, errors.Errorf("compare: %s: got %s, want %s", f.name, orNone(f.got), orNone(f.want))
		}
	}
	return c.compareLinks(other)
}

// unlike returns the settings of c that differ from the settings of another certificate.
func (c *Certificate) unlike(other *Certificate) string {
	var mine, theirs map[string]json.RawMessage
	if field.UnmarshalPart(c.Config, &mine) != nil || field.UnmarshalPart(other.Config, &theirs) != nil {
		return string(c.Config) // a list of facts
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(mine)) {
		if !bytes.Equal(mine[key], theirs[key]) {
			list = append(list, key+" "+string(mine[key]))
		}
	}
	return strings.Join(list, ", ")
}

// compareLinks returns the first difference between the links of the steps at which both have one.
func (c *Certificate) compareLinks(other *Certificate) (links int, err error) {
	r := &Replay{certificate: c, equal: c.From}
	for _, l := range other.Links {
		was, ok := c.At(l.Step)
		if !ok {
			continue
		}
		r.step = l.Step
		d := &Difference{Step: l.Step, Since: r.equal}
		switch {
		case math.Float64bits(l.Loss) != math.Float64bits(was.Loss):
			d.Field, d.Want, d.Got = "loss", Bits(was.Loss), Bits(l.Loss)
		case math.Float64bits(l.Norm) != math.Float64bits(was.Norm):
			d.Field, d.Want, d.Got = "norm of the gradient", Bits(was.Norm), Bits(l.Norm)
		case l.Digest != was.Digest:
			d.Field, d.Want, d.Got = "digest of the losses and norms", was.Digest, l.Digest
		case l.State != (State{}):
			if err := r.State(l.State); err != nil {
				return r.links, err
			}
		}
		if d.Field != "" {
			return r.links, d
		}
		r.links++
		r.equal = l.Step
	}
	return r.links, nil
}
