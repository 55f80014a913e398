package certificate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

const (
	maxRegular = 12 // largest number of links at every n-th step
	dense      = 16 // up to this step there are links at the powers of two
	maxSaved   = 5  // largest number of links of checkpoints
)

// zero is the digest of no steps.
var zero = strings.Repeat("0", 2*sha256.Size)

// spacing returns the n of the regular links of a chain from one step to another: the smallest power of two that leaves
// at most maxRegular.
func spacing(from, to int) (n int) {
	for n = 1; to/n-from/n > maxRegular; {
		n *= 2
	}
	return n
}

// regular reports whether a chain from one step to another has a link at a step, whether or not it is a checkpoint.
func regular(from, to, step int) bool {
	return from < step && step <= to && (step%spacing(from, to) == 0 || step <= dense && step&(step-1) == 0)
}

// nextRegular returns the first regular step after the given one, or one beyond the last.
func nextRegular(from, to, step int) int {
	n := spacing(from, to)
	next := (step/n + 1) * n
	for power := 1; power <= dense; power *= 2 {
		if power > step && power > from {
			next = min(next, power)
		}
	}
	return next
}

// Chain is the chain of a run while it is trained. The zero Chain begins with the step after the first that is added.
// It takes a few kilobytes, however long the run is.
type Chain struct {
	from, step int
	loss, norm float64
	digest     [sha256.Size]byte
	links      []Link // without sums
	builds     []Build
	leftOut    int
}

// Begin returns the chain of a run of which the given number of steps are done, which it does not cover.
func Begin(step int) Chain { return Chain{from: step, step: step} }

// Step returns the number of the last step.
func (c *Chain) Step() int {
	if c == nil {
		return 0
	}
	return c.step
}

// Add adds a step with its loss and the norm of its gradient. If it is not the step after the last one, the chain
// begins anew: it covers only what follows.
func (c *Chain) Add(step int, loss, norm float64) {
	if c == nil {
		return
	}
	if step != c.step+1 {
		*c = Begin(step - 1)
	}
	c.digest = follow(c.digest, step, loss, norm)
	c.step, c.loss, c.norm = step, loss, norm
	if spacing(c.from, step) != spacing(c.from, step-1) {
		c.thin()
	}
	if regular(c.from, step, step) {
		c.links = append(c.links, c.link())
	}
}

// follow returns the digest of a step, from the digest of the step before.
func follow(digest [sha256.Size]byte, step int, loss, norm float64) [sha256.Size]byte {
	var b [sha256.Size + 24]byte
	copy(b[:], digest[:])
	binary.LittleEndian.PutUint64(b[sha256.Size:], uint64(step))
	binary.LittleEndian.PutUint64(b[sha256.Size+8:], math.Float64bits(loss))
	binary.LittleEndian.PutUint64(b[sha256.Size+16:], math.Float64bits(norm))
	return sha256.Sum256(b[:])
}

func (c *Chain) link() Link {
	return Link{Step: c.step, Loss: c.loss, Norm: c.norm, Digest: hex.EncodeToString(c.digest[:])}
}

// thin removes the links that are neither regular nor of a checkpoint.
func (c *Chain) thin() {
	c.links = slices.DeleteFunc(c.links, func(l Link) bool {
		return l.State == State{} && !regular(c.from, c.step, l.Step)
	})
}

// Saved adds a checkpoint of the last step. Of too many it keeps the newest two, and others at even distances.
func (c *Chain) Saved(s State) {
	if c == nil {
		return
	}
	if n := len(c.links); n == 0 || c.links[n-1].Step != c.step {
		c.links = append(c.links, c.link())
	}
	c.links[len(c.links)-1].State = s
	var saved []int
	for i, l := range c.links {
		if l.State != (State{}) {
			saved = append(saved, i)
		}
	}
	if len(saved) <= maxSaved {
		return
	}
	crowded, least := 0, math.MaxInt
	for i := range len(saved) - 2 {
		before := c.from
		if i > 0 {
			before = c.links[saved[i-1]].Step
		}
		if gap := c.links[saved[i+1]].Step - before; gap < least {
			crowded, least = saved[i], gap
		}
	}
	c.links[crowded].State = State{}
	c.thin()
}

// Certificate returns the certificate of a run with the steps of the chain so far, computed by this program from the
// step on at which it began or was resumed.
func (c *Chain) Certificate(r Run) (*Certificate, error) {
	if c == nil {
		return nil, errors.New("certificate: got no chain")
	}
	if err := r.check(); err != nil {
		return nil, errors.Wrap(err, "certificate")
	}
	b := ThisBuild()
	b.From = c.from
	if len(c.builds) > 0 {
		b.From = c.builds[len(c.builds)-1].From
	}
	out := &Certificate{Run: r, Builds: c.builds, LeftOut: c.leftOut, From: c.from, Links: slices.Clone(c.links)}
	if len(out.Builds) == 0 {
		out.Builds = []Build{b}
	}
	if n := len(out.Links); c.step > c.from && (n == 0 || out.Links[n-1].Step != c.step) {
		out.Links = append(out.Links, c.link())
	}
	return out, nil
}

// Resume returns the chain of a run that continues at a step with the program of the given build, from the certificate
// of its checkpoint, whose last link must be at the step.
func (c *Certificate) Resume(step int, now Build) (chain Chain, err error) {
	if c == nil {
		return chain, errors.New("certificate: got nil, want one of Open")
	}
	last := c.Last()
	if len(c.Links) == 0 || last.Step != step {
		return chain, errors.Errorf("certificate: links: got the last one of step %d, want step %d", last.Step, step)
	}
	chain = Chain{
		from: c.From, step: step, loss: last.Loss, norm: last.Norm, links: slices.Clone(c.Links),
		builds: slices.Clone(c.Builds), leftOut: c.LeftOut,
	}
	for i := range chain.links {
		chain.links[i].Sum = ""
	}
	chain.thin()
	if _, err := hex.Decode(chain.digest[:], []byte(last.Digest)); err != nil || len(last.Digest) != 2*sha256.Size {
		return chain, errors.Errorf("certificate: digest: got %.80q, want a SHA-256", last.Digest)
	}
	n := len(chain.builds)
	if now.From = 0; n > 0 {
		now.From = chain.builds[n-1].From
	}
	if n > 0 && chain.builds[n-1] == now {
		return chain, nil
	}
	now.From = step
	if n == maxBuilds {
		chain.builds = slices.Delete(chain.builds, 1, 2)
		chain.leftOut++
	}
	chain.builds = append(chain.builds, now)
	return chain, nil
}
