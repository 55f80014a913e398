package main

import (
	"math"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/graph/stored"
)

type decodingLine struct {
	common
	Weights         string  `json:"weights,omitempty"` // how they are packed; by default float32
	WeightsMiB      float64 `json:"weights_mib"`
	Tokens          int     `json:"tokens"`
	FillingTokPerS  float64 `json:"filling_tok_per_s"` // while the context is not full
	FullTokPerS     float64 `json:"full_tok_per_s"`    // with a full context that slides by halves
	WeightsGBPerS   float64 `json:"weights_gb_per_s"`  // every weight once per token, while the context is not full
	BandwidthGBPerS float64 `json:"bandwidth_gb_per_s"`
	BandwidthPart   float64 `json:"bandwidth_fraction"`
	Batch8TokPerS   float64 `json:"batch8_tok_per_s"` // of 8 sequences together, while the context is not full
	BytesPerToken   float64 `json:"bytes_per_token"`
	AllocsPerToken  float64 `json:"allocs_per_token"`
}

// decoding times tokens one by one, without sampling, with weights packed if packing is not empty.
func decoding(shape string, c gpt.Config, tokens int, packing stored.Packing) (line decodingLine, err error) {
	c.BatchSize = 1
	m, err := decoded(c, packing)
	if err != nil {
		return line, err
	}
	line.Weights, line.WeightsMiB = string(packing), program.Round(float64(m.Graph.WeightBytes())/(1<<20), 1)
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		return line, err
	}
	feed := func(n int) error {
		for i := range n {
			if _, err := d.Feed([]int{i % c.VocabSize}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := feed(min(8, c.BlockSize-1)); err != nil { // warm up
		return line, err
	}
	contexts := (tokens + c.BlockSize - 1) / c.BlockSize
	line.Tokens = contexts * c.BlockSize
	start := time.Now()
	line.BytesPerToken, line.AllocsPerToken, err = allocated(line.Tokens, func() error {
		for range contexts {
			if err := d.Reset(); err != nil {
				return err
			}
			if err := feed(c.BlockSize); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return line, err
	}
	filling := time.Since(start).Seconds()
	start = time.Now()
	if err := feed(tokens); err != nil {
		return line, err
	}
	line.FullTokPerS = math.Round(float64(tokens) / time.Since(start).Seconds())
	if line.Batch8TokPerS, err = decodingBatch(m, 8, tokens); err != nil {
		return line, err
	}
	total, _ := c.Count()
	line.common = describe(shape, c, m.Graph.Threads())
	line.FillingTokPerS = math.Round(float64(line.Tokens) / filling)
	line.WeightsGBPerS = program.Round(float64(m.Graph.WeightBytes())*float64(line.Tokens)/filling/1e9, 2)
	line.BandwidthGBPerS = program.Round(bandwidth(m.Graph.Threads(), int(total)), 2)
	line.BandwidthPart = program.Round(line.WeightsGBPerS/line.BandwidthGBPerS, 3)
	return line, nil
}

// decoded returns a model to decode with, whose weights are packed if packing is not empty.
func decoded(c gpt.Config, packing stored.Packing) (*gpt.Model, error) {
	g := graph.New(graph.Float32, c.Seed)
	c.Configure(g)
	m, err := gpt.New(g, c, 1)
	if err != nil || packing == "" {
		return m, err
	}
	return m.Packed(packing)
}

// decodingBatch returns the number of tokens per second that are decoded for a batch of sequences in total.
func decodingBatch(m *gpt.Model, batch, tokens int) (float64, error) {
	d, err := gpt.NewDecoder(m, batch)
	if err != nil {
		return 0, err
	}
	rows := make([][]int, batch)
	for i := range rows {
		rows[i] = []int{i % m.Config.VocabSize}
	}
	var took time.Duration
	count := 0
	for round := 0; count < tokens; round++ {
		if err := d.Reset(); err != nil {
			return 0, err
		}
		start := time.Now()
		for range m.Config.BlockSize {
			if _, err := d.Feed(rows...); err != nil {
				return 0, err
			}
		}
		if round > 0 { // the first one warms up
			took, count = took+time.Since(start), count+batch*m.Config.BlockSize
		}
	}
	return math.Round(float64(count) / took.Seconds()), nil
}
