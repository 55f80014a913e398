package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/bpe"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

//go:embed llama_step.mjs
var llamaStep string

// llama is a folder in which npm has installed node-llama-cpp.
type llama string

// step runs llama.cpp on a GGUF file in a separate process. Without a file it describes llama.cpp alone.
func (l llama) step(file string, threads, tokens int) (measurement, error) {
	c := exec.Command("node", "--input-type=module", "-e", llamaStep, "--", file, strconv.Itoa(threads),
		strconv.Itoa(promptTokens), strconv.Itoa(tokens))
	c.Dir = string(l)
	return measured(c)
}

// readingLine is the line of JSON about a GGUF file.
type readingLine struct {
	PromptTokens  int     `json:"prompt_tokens"`
	Tokens        int     `json:"tokens"`
	PromptTokPerS float64 `json:"prompt_tok_per_s"`
	DecodeTokPerS float64 `json:"decode_tok_per_s"`
	WeightsMiB    float64 `json:"weights_mib"`
}

// promptTokens is the length of the prompt that is timed.
const promptTokens = 512

// reading times a GGUF file: a prompt that is read at once, and tokens that are written one by one, without sampling.
func reading(file string, threads, tokens int) (line readingLine, err error) {
	m, _, err := published.Open(file)
	if err != nil {
		return line, err
	}
	if threads > 0 {
		m.Graph.SetThreads(threads)
	}
	d, err := gpt.NewDecoder(m, 1)
	if err != nil {
		return line, err
	}
	prompt := make([]int, promptTokens)
	for i := range prompt {
		prompt[i] = i % 256
	}
	read := func() (time.Duration, error) {
		if err := d.Reset(); err != nil {
			return 0, err
		}
		start := time.Now()
		_, err := d.Feed(prompt)
		return time.Since(start), err
	}
	if _, err := read(); err != nil { // warm up
		return line, err
	}
	took, err := read()
	if err != nil {
		return line, err
	}
	line = readingLine{PromptTokens: promptTokens, Tokens: tokens,
		PromptTokPerS: program.Round(promptTokens/took.Seconds(), 1),
		WeightsMiB:    program.Round(float64(m.Graph.WeightBytes())/(1<<20), 1)}
	if err := d.Reset(); err != nil {
		return line, err
	}
	var start time.Time
	for i := range tokens + 1 { // the first follows nothing
		if i == 1 {
			start = time.Now()
		}
		if _, err := d.Feed(prompt[i : i+1]); err != nil {
			return line, err
		}
	}
	line.DecodeTokPerS = program.Round(float64(tokens)/time.Since(start).Seconds(), 1)
	return line, nil
}

// llamaRow is a model in a type of GGUF.
type llamaRow struct {
	model, dtype string
	threads      int
}

// besideLlama prints a table of this program and llama.cpp in turn, on the same files.
func (c comparison) besideLlama(w io.Writer) error {
	peer := llama(c.llama)
	about, err := peer.step("", 1, 0)
	if err != nil {
		return errors.Wrap(err, "-llama")
	}
	fmt.Fprintf(w, "llama.cpp %v, %v\n\n", about["release"], about["system"])
	fmt.Fprintf(w, "| model, type, threads | prompt of %d, tok/s | llama.cpp | times faster "+
		"| written tok/s | llama.cpp | times faster |\n|---|---|---|---|---|---|---|\n", promptTokens)
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, model := range []string{"gpt2", "smollm2-135m"} {
		for _, dtype := range []string{"F32", "BF16", "Q8_0", "Q4_0"} {
			if c.quick && (model != "gpt2" || dtype != "Q8_0") {
				continue
			}
			path := filepath.Join(dir, "model.gguf")
			if err := writeModel(path, model, dtype); err != nil {
				return errors.WithMessagef(err, "%s in %s", model, dtype)
			}
			for _, threads := range []int{1, 2} {
				if err := c.llamaRow(w, path, llamaRow{model, dtype, threads}, peer); err != nil {
					return err
				}
			}
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// llamaRow prints a row.
func (c comparison) llamaRow(w io.Writer, path string, r llamaRow, peer llama) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	rounds, tokens := c.rounds, 64
	if c.quick {
		rounds, tokens = 1, 4
	}
	var ours, theirs []measurement
	for range rounds {
		line, err := measured(exec.Command(self, "-shape", path, "-threads", strconv.Itoa(r.threads), "-steps",
			strconv.Itoa(tokens)))
		if err != nil {
			return err
		}
		ours = append(ours, line)
		if line, err = peer.step(path, r.threads, tokens); err != nil {
			return err
		}
		theirs = append(theirs, line)
	}
	_, err = fmt.Fprintln(w, r.line(ours, theirs))
	return err
}

// line returns the line of the table: medians of the rounds, and of their ratios.
func (r llamaRow) line(ours, theirs []measurement) string {
	s := fmt.Sprintf("| %s, %s, %d |", r.model, r.dtype, r.threads)
	for _, field := range []string{"prompt_tok_per_s", "decode_tok_per_s"} {
		var ratios []float64
		for i := range ours {
			ratios = append(ratios, ours[i].number(field)/theirs[i].number(field))
		}
		s += fmt.Sprintf(" %.1f | %.1f | %.2f |", median(ours, field), median(theirs, field), program.Median(ratios))
	}
	return s
}

// smolLM2 is the configuration of SmolLM2-135M, as published.
const smolLM2 = `{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu",
	"hidden_size": 576, "intermediate_size": 1536, "max_position_embeddings": 8192, "num_attention_heads": 9,
	"num_hidden_layers": 30, "num_key_value_heads": 3, "rms_norm_eps": 1e-05, "rope_theta": 100000,
	"tie_word_embeddings": true, "vocab_size": 49152}`

// writeModel writes a model of a published size with random weights.
func writeModel(path, model, dtype string) error {
	c := gpt.GPT2()
	if model != "gpt2" {
		var err error
		if c, err = published.ReadConfig([]byte(smolLM2)); err != nil {
			return err
		}
	}
	g := graph.New(graph.Float32, 1)
	c.Configure(g)
	m, err := gpt.New(g, c, 1)
	if err != nil {
		return err
	}
	tok, err := filler(c.VocabSize)
	if err != nil {
		return err
	}
	return published.Export(context.Background(), path, m, tok, dtype, chat.Template{})
}

// filler returns a tokenizer of n tokens, which other programs want in a file: bytes, and names for the rest.
func filler(n int) (text.Tokenizer, error) {
	bytes, err := bpe.Train("a", 256)
	if err != nil {
		return nil, err
	}
	data, err := bytes.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	var added []map[string]any
	for id := bytes.Size(); id < n; id++ {
		added = append(added, map[string]any{"id": id, "content": fmt.Sprintf("<|%d|>", id), "special": true,
			"single_word": false, "lstrip": false, "rstrip": false, "normalized": false})
	}
	file["added_tokens"] = added
	if data, err = json.Marshal(file); err != nil {
		return nil, err
	}
	return bpe.Read(data)
}
