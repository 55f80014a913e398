package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// evalFlags adds the flags of the command eval.
func (o *options) evalFlags(fs *program.FlagSet) {
	o.modelFlags(fs, true)
	o.dataFlag(fs, "text to measure the model on")
	fs.Group("measuring", "how it is measured", func(fs *flag.FlagSet) {
		fs.IntVar(&o.stride, "stride", 0, "tokens from one window to the next; fewer than block_size slide; "+
			"0 means block_size: windows side by side")
		o.blockFlag(fs)
		o.weightsFlag(fs)
	})
}

// evaluate prints the loss of a text. Each token but the first is predicted once, in windows of block_size tokens that
// begin a stride apart, by the first window that contains it.
func evaluate(ctx context.Context, o options, m *gpt.Model, tok text.Tokenizer, stdout, stderr io.Writer) error {
	source, err := corpus.Open(ctx, o.data, stderr)
	if err != nil {
		return err
	}
	ids, err := tok.Encode(source.Text)
	if err != nil {
		return errors.Wrap(err, source.Name)
	}
	if len(ids) < 2 {
		return errors.Errorf("%s: got %d tokens, want at least 2", source.Name, len(ids))
	}
	predicted, err := tok.Decode(ids[1:])
	if err != nil {
		return err
	}
	size := m.Config.BlockSize
	if o.config.BlockSize == 0 && len(ids)-1 < size { // a pass then takes no more tokens than it needs
		o.config.BlockSize = len(ids) - 1
		if m, _, err = o.open(); err != nil {
			return err
		}
	}
	stride := min(o.stride, size)
	how := fmt.Sprintf("windows of %d tokens, sliding by %d", size, stride)
	if stride == 0 || stride == size {
		stride, how = size, fmt.Sprintf("windows of %d tokens, side by side", size)
	}
	fmt.Fprintf(stdout, "%s: %s bytes, %s tokens predicted, in %s\n",
		source.Name, program.Thousands(len(predicted)), program.Thousands(len(ids)-1), how)
	measure := func(m *gpt.Model, kept string) error {
		bar := program.NewBar(stderr, "tokens", 0, len(ids)-1)
		nats, err := total(ctx, m, ids, stride, bar)
		bar.Close()
		if err != nil {
			return err
		}
		n := float64(len(ids) - 1)
		_, err = fmt.Fprintf(stdout, "loss %.4f nats per token, perplexity %.2f, %.4f bits per byte%s\n",
			nats/n, math.Exp(nats/n), nats/math.Ln2/float64(len(predicted)), kept)
		return err
	}
	if err := measure(m, ""); err != nil || o.weights == "" {
		return err
	}
	program.Doing(stderr, "packing the weights")
	packed, err := m.Packed(o.weights)
	if err != nil {
		return err
	}
	const mib = 1 << 20
	return measure(packed, fmt.Sprintf(", with weights in %s: %.1f MiB, not %.1f",
		o.weights, float64(packed.Graph.WeightBytes())/mib, float64(m.Graph.WeightBytes())/mib))
}

// total returns the total loss of all tokens but the first.
func total(ctx context.Context, m *gpt.Model, ids []int, stride int, bar *program.Bar) (nats float64, err error) {
	p, err := graph.Compile(m.Loss)
	if err != nil {
		return 0, errors.WithMessagef(err, "windows of %d tokens (-block_size)", m.Config.BlockSize)
	}
	x, y := m.Tokens.Ints(), m.Targets.Ints()
	all, size := len(ids)-1, len(x)
	for done := 0; done < all; {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		end := min(all, max(size, done+stride))
		begin := max(0, end-size)
		clear(x[copy(x, ids[begin:end]):])
		for i := range y {
			if y[i] = text.Ignore; begin+i >= done && begin+i < end {
				y[i] = ids[begin+i+1]
			}
		}
		if err := p.Run(); err != nil {
			return 0, err
		}
		nats += p.Loss() * float64(end-done)
		done = end
		bar.Draw(done, fmt.Sprintf("loss %.4f", nats/float64(done)))
	}
	return nats, nil
}
