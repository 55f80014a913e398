package train

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"sync"

	"github.com/pedestrian-ml/pedestrian/gpt/internal/field"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// compareEvery is the number of steps between comparisons of all numbers across the ranks, which take a few thousandths
// of the time.
const compareEvery = 100

// split divides the micro-batches of a step evenly among the ranks of the Group, in their order, so that each rank
// computes an entire branch of the tree of sums.
func (c *Core) split() (mine share, err error) {
	if mine, err = c.join(); err != nil || c.alone() {
		return mine, err
	}
	if !c.same || c.Done%compareEvery == 0 {
		if err := c.compare(); err != nil {
			return mine, err
		}
		c.same = true
	}
	return mine, nil
}

// compare returns an error that names the first difference unless this rank trains the same as rank 0, from the same
// numbers. Rank 0 gets an error when the rank that differs ends.
func (c *Core) compare() error {
	facts := c.facts()
	theirs, err := c.fromRank0(strings.Join(facts, "\n"))
	if err != nil {
		return errors.Wrap(err, "compare")
	}
	lines := strings.Split(theirs, "\n")
	for i, mine := range facts {
		if i == len(lines) {
			return errors.Errorf("got %s, rank 0 has nothing there", mine)
		}
		if mine != lines[i] {
			return errors.Errorf("got %s, rank 0 has %s", mine, field.Clip(lines[i]))
		}
	}
	if len(lines) > len(facts) {
		return errors.Errorf("got nothing, rank 0 has %s", field.Clip(lines[len(facts)]))
	}
	return nil
}

// facts returns the lines on which all ranks must agree: the program, the number of steps done, the Training, the Facts
// of the Task, what it reads and how it draws, and every tensor.
func (c *Core) facts() (list []string) {
	add := func(name string, is any) { list = append(list, fmt.Sprintf("%s %v", name, is)) }
	if !c.same {
		add("build", ThisBuild().class())
		add("program's sha256", program())
	}
	add("steps done", c.Done)
	training, run := c.training, c.limits
	list = append(list, Fields(&training, &run, nil, nil).Without(private...).Lines()...)
	list = append(list, c.task.Facts...)
	add("corpus_sha256", c.corpus())
	if c.task.Batches != nil {
		generator, _ := c.task.Batches.MarshalBinary() // always returns a nil error
		add("batches", fmt.Sprintf("%x", generator))
	}
	tensors := Parameters(c.graph.Params())
	if !c.sharded() {
		tensors = append(tensors, c.Moments()...)
	}
	for _, t := range tensors {
		add(t.Name, fmt.Sprintf("%x", digest(t.Tensor)))
	}
	return list
}

// private lists the fields that may differ between ranks, because only rank 0 uses them, or each rank has its own
// setting.
var private = []string{
	"max_iters", "eval_interval", "patience", "log_interval", "out_dir", "threads", "recompute", "memory_limit",
}

// program returns the digest of the running program's file, or the error that prevents it. The file does not change
// while it runs.
var program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return err.Error()
	}
	f, err := file.Open(path)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
})

// digest returns the first 8 bytes of the SHA-256 of a tensor's numbers.
func digest(t graph.Tensor) []byte {
	h := sha256.New()
	b := make([]byte, 0, 1<<12)
	for i, x := range t.F32 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		if len(b) == cap(b) || i == len(t.F32)-1 {
			h.Write(b)
			b = b[:0]
		}
	}
	return h.Sum(nil)[:8]
}

// fromRank0 returns rank 0's text on every rank.
func (c *Core) fromRank0(text string) (string, error) {
	n := []float32{float32(len(text) >> 12), float32(len(text) & (1<<12 - 1))} // exact in float32
	if err := c.Group.Share(n, 0); err != nil {
		return "", err
	}
	size, err := textSize(n)
	if err != nil {
		return "", err
	}
	x := make([]float32, size)
	for i := range min(len(x), len(text)) {
		x[i] = float32(text[i])
	}
	if err := c.Group.Share(x, 0); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, v := range x {
		b.WriteByte(byte(v))
	}
	return b.String(), nil
}

// textSize returns the length of rank 0's text in bytes, from its two halves. It is less than 16 MiB, whatever is
// received.
func textSize(n []float32) (int, error) {
	for _, half := range n {
		if !(half >= 0 && half < 1<<12) {
			return 0, errors.Errorf("got a text of %v · 4096 + %v bytes from rank 0, want each number from 0 to 4095",
				n[0], n[1])
		}
	}
	return int(n[0])<<12 + int(n[1]), nil
}
