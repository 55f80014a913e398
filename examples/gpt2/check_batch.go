package main

import (
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/optim"
	"github.com/pkg/errors"
)

// batch compares logits, loss, gradients and the losses of some steps on llm.c's batch. It trains the model, so it
// must run last.
func (c *checking) batch() {
	k := c.known.Batch
	if k == nil {
		return
	}
	if c.source.SHA256() != k.Text {
		c.skip("llm.c's batch of tinyshakespeare", c.source.Name+" is another text")
		return
	}
	ids, err := sections(c.tok, c.source.Text)
	if err != nil || len(ids) <= k.First {
		c.failure("llm.c's tokens", errors.Errorf("%d tokens (%v)", len(ids), err))
		return
	}
	c.tokens("llm.c's val.bin", ids[:k.First], k.Val)
	c.tokens("llm.c's train.bin", ids[k.First:], k.Train)
	if err := c.onBatch(ids); err != nil {
		c.failure("llm.c's batch", err)
	}
}

func (c *checking) onBatch(ids []int) error {
	k := c.known.Batch
	m, err := c.model.Plain(k.Rows)
	if err != nil {
		return err
	}
	n := k.Rows * k.Width
	if m.Config.BlockSize != k.Width || len(ids) <= n {
		return errors.Errorf("got %d tokens and a block_size of %d, want more than %d and %d",
			len(ids), m.Config.BlockSize, n, k.Width)
	}
	copy(m.Tokens.Ints(), ids)
	copy(m.Targets.Ints(), ids[1:])
	logits, err := graph.Compile(m.Logits)
	if err != nil {
		return err
	}
	if err := logits.Run(); err != nil {
		return err
	}
	for i, want := range k.Logits {
		c.near(fmt.Sprintf("logit %d of the first token", i), logits.Value().At(i), want, 1e-2)
	}
	p, err := graph.Compile(m.Loss, m.Params()...)
	if err != nil {
		return err
	}
	if err := p.Run(); err != nil {
		return err
	}
	c.near("loss", p.Loss(), k.Loss, 1e-3)
	for _, g := range k.Gradients {
		x, ok := m.Graph.Leaf(g.Parameter)
		if !ok {
			return errors.Errorf("no parameter %s", g.Parameter)
		}
		for i, want := range g.Values {
			c.near(fmt.Sprintf("∂L/∂ %s [%d]", g.Parameter, i), p.Grad(x).At(i), want, 2e-5)
		}
	}
	return c.steps(m, p)
}

// steps trains on the batch like llm.c's test, with AdamW without clipping. In llm.c the decay also acts on vectors;
// in these few steps that changes none of the compared digits.
func (c *checking) steps(m *gpt.Model, p *graph.Program) error {
	o, err := optim.New(m.Params(), optim.AdamW{Beta1: 0.9, Beta2: 0.999})
	if err != nil {
		return err
	}
	o.Decay = 0.01
	for step, want := range c.known.Batch.Losses {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if err := p.Run(); err != nil {
			return err
		}
		c.near(fmt.Sprintf("loss before step %d", step+1), p.Loss(), want, 1e-2)
		if _, err := o.Update(p, 1e-4); err != nil {
			return err
		}
	}
	return nil
}
