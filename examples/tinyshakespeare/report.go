package main

import (
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/pedestrian-ml/pedestrian/examples/internal/corpus"
	"github.com/pedestrian-ml/pedestrian/examples/internal/picture"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/dist"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pedestrian-ml/pedestrian/internal/file"
	"github.com/pkg/errors"
)

// report prints the progress and writes the files of out_dir other than checkpoints.
type report struct {
	*program.Log
	out     io.Writer
	trainer *gpt.Trainer
	source  corpus.Source
	unit    string  // word for a token
	floor   float64 // nats per character, 0 if unknown
	bytes   float64 // per token of the validation split
	watch   *watch  // nil without -serve

	curvature *inspect.Curvature // nil without -curvature
}

func newReport(
	t *gpt.Trainer, source corpus.Source, o options, w *watch, h *inspect.Curvature, out io.Writer,
) (*report, error) {
	c := t.Config()
	m, err := program.OpenMetrics(c.OutDir, t.Done)
	if err != nil {
		return nil, err
	}
	bytes, err := text.BytesPerToken(t.Corpus.Val(), t.Tokenizer)
	if err != nil {
		return nil, err
	}
	log := &program.Log{Bar: program.NewBar(out, "", t.Done, c.MaxIters).Every(o.logInterval), Metrics: m}
	r := &report{
		Log: log, out: out, trainer: t, source: source, unit: unit(t.Tokenizer), bytes: bytes, watch: w, curvature: h,
	}
	total, trainable := c.Count()
	mode := map[bool]string{true: "kernels", false: "reference"}[c.Kernels]
	if c.Resolved().Precision != "float32" {
		mode += ", " + t.Model.Graph.Precision()
	}
	ranks := ""
	if n := t.Group.Size(); n > 1 {
		ranks = fmt.Sprintf("%d ranks × ", n)
	}
	r.Header("pedestrian", program.Thousands(total)+" parameters, "+program.Thousands(trainable)+" trainable",
		fmt.Sprint(train.ThisBuild()), fmt.Sprintf("%s%d threads", ranks, t.Model.Graph.Threads()), mode)
	if t.Group.Size() > 1 {
		r.ranks(o.ranks)
	}
	tokens, held := t.Corpus.Train().Len(), t.Corpus.Val().Len()
	r.Header("text: "+source.Name,
		fmt.Sprintf("%s tokens, %d different", program.Thousands(tokens+held), t.Tokenizer.Size()),
		program.Thousands(tokens)+" to train on, "+program.Thousands(held)+" to validate")
	if size := t.Tokenizer.Size(); c.VocabSize > size {
		r.Print("vocab_size %s: the model never writes the %s tokens that the text's tokenizer lacks",
			program.Thousands(c.VocabSize), program.Thousands(c.VocabSize-size))
	}
	if r.unit == "character" && source.Floor > 0 {
		r.floor = source.Floor
		r.Print("this text has %.4f nats per character: no model stays below it for long", r.floor)
	}
	if w != nil {
		r.Print("watch it at %s", w.URL)
	}
	return r, file.Replace(filepath.Join(c.OutDir, "config.json"),
		func(w io.Writer) error { return gpt.WriteConfig(w, c) })
}

// ranks prints the memory and the settings of each of several ranks.
func (r *report) ranks(o dist.Options) {
	weights, moments := 0, 0
	for _, p := range r.trainer.Model.Graph.Params() {
		weights += 4 * p.Tensor().Len()
	}
	for _, m := range r.trainer.Moments() {
		moments += 4 * m.Len()
	}
	const mib = 1 << 20
	r.Print("memory of each rank: %.1f MiB of weights, %.1f of moments, "+
		"%.1f of activations and gradients, and their sums",
		float64(weights)/mib, float64(moments)/mib, float64(r.trainer.Model.Graph.Bytes())/mib)
	if o.Fast {
		r.Print("sums in MPI's own order (-fast_reduce): the digits depend on the number of ranks")
	}
	if cores := program.Cores(); r.trainer.Model.Graph.Threads() == 1 && runtime.NumCPU() == 1 && cores > 1 {
		r.Print("this rank is bound to one of the machine's %d processors: "+
			"mpirun --bind-to none releases it", cores)
	}
}

func (r *report) evaluation(step int, e gpt.Evaluation, curvature float64) {
	r.line(step, e, curvature)
	r.Add(program.EvalLine{
		Step: step, Train: e.Train, Val: e.Val, BitsPerChar: e.BitsPerChar(),
		BitsPerByte: text.BitsPerByte(e.Val, r.bytes), Curvature: curvature, ValEMA: e.ValEMA,
		Starving: r.Starving(),
	})
}

// line prints an evaluation: each number once.
func (r *report) line(step int, e gpt.Evaluation, curvature float64) {
	fields := []string{
		fmt.Sprintf("step %d: train loss %.4f", step, e.Train), fmt.Sprintf("val loss %.4f", e.Val),
		fmt.Sprintf("%.4f bits per byte", text.BitsPerByte(e.Val, r.bytes)),
	}
	if r.curvature != nil {
		fields = append(fields, fmt.Sprintf("curvature %.4g", curvature))
	}
	if e.ValEMA > 0 {
		fields = append(fields, fmt.Sprintf("averaged weights %.4f", e.ValEMA))
	}
	r.Fields(", ", fields...)
}

// validating returns a bar for an evaluation over the entire split.
func (r *report) validating() *program.Bar {
	r.Bar.Close()
	return program.NewBar(r.out, "validating", 0, (r.trainer.Corpus.Val().Len()-1)/r.trainer.Config().BlockSize)
}

func (r *report) full(loss float64) {
	bits := text.BitsPerByte(loss, r.bytes)
	r.Print("val loss over the entire split: %.4f nats per %s, %.4f bits per byte", loss, r.unit, bits)
	if r.floor > 0 {
		r.Print("%.4f nats above the text's own %.4f", loss-r.floor, r.floor)
	}
	r.Print("saved to %s: checkpoints, certificate.json, metrics.jsonl, config.json, loss.png",
		r.trainer.Config().OutDir)
	if c := r.trainer.Config(); c.Patience > 0 {
		r.Print("the model of the lowest val loss, %.4f, is in %s", r.trainer.Best, filepath.Join(c.OutDir, bestDir))
	}
	r.Add(fullLine{loss, bits})
}

// fullLine is the last line of the metrics.
type fullLine struct {
	Val         float64 `json:"val_loss_full"`
	BitsPerByte float64 `json:"bits_per_byte"`
}

func (r *report) plot() error {
	path := filepath.Join(r.trainer.Config().OutDir, "loss.png")
	return errors.Wrap(file.Replace(path, func(w io.Writer) error {
		return picture.Losses(w, "cross entropy, nats per "+r.unit, &r.Loss, &r.Train, &r.Val, r.floor)
	}), "loss.png")
}
