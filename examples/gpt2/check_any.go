package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/safetensors"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// again saves the folder, opens it again, and compares the model's logits bit by bit.
func (c *checking) again() {
	const what = "logits, saved and opened again"
	differ, n, err := c.reopened()
	if err != nil {
		c.failure(what, err)
		return
	}
	equal(&c.report, what, fmt.Sprintf("%d of %d differ", differ, n), fmt.Sprintf("0 of %d differ", n))
}

func (c *checking) reopened() (differ, n int, err error) {
	const prefix = "pedestrian-gpt2-"
	numbered := func(rest string) bool { _, err := strconv.ParseUint(rest, 10, 64); return err == nil }
	file.Sweep(os.TempDir(), prefix, numbered)
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	holder, err := file.Hold(dir)
	if err != nil {
		return 0, 0, err
	}
	defer holder.Close()
	dir = filepath.Join(dir, "again")
	err = published.Export(context.Background(), dir, c.model, c.tok, safetensors.F32, chat.Template{})
	if err != nil {
		return 0, 0, err
	}
	m, _, err := openAt(dir, 0)
	if err != nil {
		return 0, 0, err
	}
	ids, err := c.few()
	if err != nil {
		return 0, 0, err
	}
	var logits [2][]float64
	for i, m := range []*gpt.Model{c.model, m} {
		d, err := gpt.NewDecoder(m, 1)
		if err != nil {
			return 0, 0, err
		}
		z, err := d.Feed(ids)
		if err != nil {
			return 0, 0, err
		}
		logits[i] = slices.Clone(z.Floats())
	}
	for i, z := range logits[0] {
		if z != logits[1][i] {
			differ++
		}
	}
	return differ, len(logits[0]), nil
}

// few returns the first five tokens of the text, or fewer if the context is shorter.
func (c *checking) few() ([]int, error) {
	ids, err := c.tok.Encode(c.source.Text[:min(len(c.source.Text), 1000)])
	if n := min(5, c.model.Config.BlockSize+1); err == nil && len(ids) >= n && n > 1 {
		return ids[:n], nil
	}
	return nil, errors.Errorf("%s: got %d tokens of its beginning (%v), want 5", c.source.Name, len(ids), err)
}
