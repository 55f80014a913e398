package text

import (
	"iter"
	"math/rand/v2"

	"github.com/pkg/errors"
)

// Ignore is the target of a position without text: the value that nanoGPT's cross entropy leaves out of its mean.
const Ignore = -1

// Sample fills x and y (B·T each) with B blocks of T = blockSize tokens of s whose starts are drawn independently and
// uniformly from [0, Len−T), with one rng.IntN per row in the order of the rows, as nanoGPT's get_batch does. Blocks
// may overlap. For the examples of LoadAnswers a block is a complete row with its own targets. The generator belongs
// to the caller; saving its state after the call is enough to continue with the same batches. Sample allocates
// nothing.
//
// It is an error if x and y differ in length or are not B ≥ 1 complete rows, or if s has fewer than T+1 tokens.
func Sample(s Split, rng *rand.Rand, x, y []int, blockSize int) error {
	if err := fits(s, x, y, blockSize); err != nil {
		return err
	}
	if rng == nil || *rng == (rand.Rand{}) {
		return errors.New("batch: no generator to draw with, want one of rand.New")
	}
	for row := 0; row < len(x); row += blockSize {
		if err := fill(s, x[row:row+blockSize], y[row:row+blockSize], draw(s, rng, blockSize)); err != nil {
			return err
		}
	}
	return nil
}

// draw returns the start of a random block.
func draw(s Split, rng *rand.Rand, blockSize int) int {
	if r, ok := s.(*rows); ok {
		return blockSize * rng.IntN(len(r.tokens)/blockSize)
	}
	return rng.IntN(s.Len() - blockSize)
}

// Blocks goes once through s in blocks of T = blockSize tokens that do not overlap: block i is x = s[i·T : (i+1)·T]
// with its targets one further, for every i < ⌊(Len−1)/T⌋. A remainder shorter than T is dropped. Each step of the
// iterator fills x and y (B·T each) and yields the number of rows that hold a block: B, or fewer in the last batch if
// B does not divide the number of blocks. The unused rows are 0 in x and Ignore in y, so a loss that is a mean over
// the targets not ignored, weighted by the rows, adds up to the mean over the split.
//
// The errors are Sample's; after one the iterator ends.
func Blocks(s Split, x, y []int, blockSize int) iter.Seq2[int, error] {
	return func(yield func(rows int, err error) bool) {
		if err := fits(s, x, y, blockSize); err != nil {
			yield(0, err)
			return
		}
		blocks, batch := Windows(s, blockSize), len(x)/blockSize
		for first := 0; first < blocks; first += batch {
			rows := min(batch, blocks-first)
			n := rows * blockSize
			err := fill(s, x[:n], y[:n], first*blockSize)
			clear(x[n:])
			for i := n; i < len(y); i++ {
				y[i] = Ignore
			}
			if !yield(rows, err) || err != nil {
				return
			}
		}
	}
}

// Window fills x and y (T each) with block i of s, one of Blocks: x = s[i·T : (i+1)·T], y one further. It is an error
// if there is no such block, or for the examples of LoadAnswers, of which none continues another.
func Window(s Split, x, y []int, i int) error {
	if err := fits(s, x, y, len(x)); err != nil {
		return err
	}
	if _, ok := s.(*rows); ok {
		return errors.New("batch: got examples, of which none continues another, want one text")
	}
	if n := Windows(s, len(x)); i < 0 || i >= n {
		return errors.Errorf("batch: got block %d, want 0 to %d", i, n-1)
	}
	return fill(s, x, y, i*len(x))
}

// Windows returns the number of blocks of s that do not overlap, of blockSize tokens each with their targets.
func Windows(s Split, blockSize int) int {
	if s == nil || blockSize < 1 {
		return 0
	}
	return max(0, (s.Len()-1)/blockSize)
}

// fill copies len(x) inputs from start on and their targets: y is x shifted by one token, except that rows have their
// own targets.
func fill(s Split, x, y []int, start int) error {
	if r, ok := s.(*rows); ok {
		r.read(x, y, start)
		return nil
	}
	if err := s.Read(x, start); err != nil {
		return err
	}
	last := copy(y, x[1:])
	return s.Read(y[last:], start+len(x))
}

// fits checks that x and y are complete rows of blockSize and that s has a block.
func fits(s Split, x, y []int, blockSize int) error {
	if blockSize < 1 {
		return errors.Errorf("batch: block_size: got %d, want at least 1", blockSize)
	}
	if len(x) == 0 || len(x)%blockSize != 0 || len(y) != len(x) {
		return errors.Errorf("batch: x and y: got %d and %d tokens, want the same multiple of block_size %d",
			len(x), len(y), blockSize)
	}
	if r, ok := s.(*rows); ok && r.size != blockSize {
		return errors.Errorf("batch: block_size: got %d, want the %d of the examples", blockSize, r.size)
	}
	return errors.WithMessage(holds(s, blockSize), "batch: split")
}
