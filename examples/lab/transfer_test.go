package main

import (
	"math"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
)

// -widths trains every width with every rate, with and without muP, and names the best. The narrowest model is trained
// once; with a rate so high that it diverges, it has no loss there.
func TestTransfer(t *testing.T) {
	args := quick(t, "-widths", "16,8", "-rates", "1e30,3,1e-2", "-measures", "coordinates", "-decay_lr=false")
	s := measured(t, args...)
	rows, found := s.Tables[0].Rows, s.Tables[0].Transfer
	if len(rows) != 9 || len(found) != 3 || rows[0].Arm != "standard, width 8, rate 0.01" ||
		rows[8].Arm != "mup, width 16, rate 1e+30" {
		t.Fatalf("got %d rows, %d sweeps, %+v", len(rows), len(found), rows)
	}
	for i, sweep := range found {
		for k, loss := range sweep.Losses {
			r := rows[3*i+k]
			if loss != r.Loss || loss > 0 && loss < sweep.Losses[sweep.Best] || (k == 2) != (r.Diverged == 1) {
				t.Errorf("%s: got a loss of %v, best of %v", r.Arm, loss, sweep.Losses)
			}
			for _, name := range coordinateNames() {
				if k < 2 && !(r.Measures[name] > 0) {
					t.Errorf("%s: %s: got %v", r.Arm, name, r.Measures)
				}
			}
		}
	}
	o, err := asked(t, args)
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.variants[7].Apply(o.base)
	if err != nil || c.NEmbd != 16 || c.LearningRate != 3 || math.Abs(c.MinLR-0.3) > 1e-12 ||
		c.Parametrization != "mup" || c.BaseWidth != 8 {
		t.Errorf("got %+v, %v, want mup at a rate from 3 to 0.3", c.Scaling, err)
	}
	other, err := asked(t, append(args, "-base_width", "16"))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := other.sweeps(); err != nil || len(all) != 3 || !all[1].Base || all[2].Width != 8 ||
		len(all.of("mup")) != 2 || all.of("mup")[0] != all[2] {
		t.Errorf("with base 16: got %+v, %v", all, err)
	}
	if c, err := other.variants[6].Apply(other.base); err != nil || c.NEmbd != 8 || c.Parametrization != "mup" ||
		c.BaseWidth != 16 {
		t.Errorf("with base 16: got %+v, %v", c.Scaling, err)
	}
	if c, err := other.variants[0].Apply(other.base); err != nil || c.Parametrization == "mup" || c.BaseWidth != 0 {
		t.Errorf("with base 16, standard: got %+v, %v", c.Scaling, err)
	}
	out, _ := printed(t, args...)
	for _, want := range []string{"\nbest learning rate, standard: 0.0", "\nbest learning rate, mup: 0.0",
		" for width 8 (loss ", " of 3 rates\n",
		"change of the logits, mup: grows as width^"} {
		if !strings.Contains(out, want) || !strings.Contains(read(t, args[4], "report.md"), strings.TrimSpace(want)) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	if !strings.Contains(read(t, args[4], "transfer.png"), "PNG") {
		t.Error("transfer.png: want a picture")
	}
}

// The best rate has the lowest loss, the edge is marked, and the powers belong to the coordinates.
func TestTransferLines(t *testing.T) {
	rates := []float64{0.1, 0.2, 0.4}
	all := transfer{
		{8, "standard", true, rates, []float64{3, 2, 4}, 1, [2]float64{1, 5}},
		{16, "standard", false, rates, []float64{1, 2, 0}, 0, [2]float64{4, 5}},
		{16, "mup", false, rates, []float64{3, 1, 4}, 1, [2]float64{1, 10}},
	}
	want := `best learning rate, standard: 0.2 for width 8 (loss 2.0000), 0.1 for width 16 (loss 1.0000, at the ` +
		`edge of the rates); it moves by 1 of 3 rates
best learning rate, mup: 0.2 for width 8 (loss 2.0000), 0.2 for width 16 (loss 1.0000); it moves by 0 of 3 rates
change of the stream, standard: grows as width^2.00 at rate 0.2
change of the logits, standard: grows as width^0.00 at rate 0.2
change of the stream, mup: grows as width^0.00 at rate 0.2
change of the logits, mup: grows as width^1.00 at rate 0.2`
	if got := strings.Join(all.lines(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Nothing has moved before the first step, and a step of SGD moves the logits in proportion to its small rate.
func TestMoved(t *testing.T) {
	verse := strings.Repeat("The wheel goes round, the water pays no rent.\n", 9)
	tok, err := text.NewCharacters(verse)
	if err != nil {
		t.Fatal(err)
	}
	corpus, err := text.NewCorpus(verse, tok, 8)
	if err != nil {
		t.Fatal(err)
	}
	var at [2]float64
	for i, rate := range []float64{1e-2, 2e-2} {
		c := gpt.Shakespeare()
		c.NLayer, c.NHead, c.NEmbd, c.BlockSize, c.BatchSize, c.DecayLR = 1, 2, 8, 8, 2, false
		c.Optimizer, c.LearningRate, c.GradClip, c.WeightDecay = "sgd", rate, 0, 0
		trainer, err := gpt.NewTrainer(c, corpus, tok)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			logits := coordinates(nil)[1]
			if at[i], err = logits.Of(t.Context(), trainer); err != nil || trainer.Done == 0 && at[i] != 0 {
				t.Errorf("after %d steps: moved by %v, %v", trainer.Done, at[i], err)
			}
			if trainer.Done == 0 {
				if _, err := trainer.Step(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if ratio := at[1] / at[0]; !(math.Abs(ratio-2) < 0.05) {
		t.Errorf("moved by %v, want twice as far at twice the rate", at)
	}
}

// Flags that contradict -widths are refused by name.
func TestTransferRefused(t *testing.T) {
	refusals(t, []refusal{
		{"-widths 8", "-widths|got 1 widths"}, {"-widths 8,x", `widths|"x"`}, {"-rates 1 -widths 8", "got 1 widths"},
		{"-widths 8,16 -rates x", `-rates|"x"`},
		{"-widths 8,16 -rates 0", `-rates|"0"`}, {"-widths 8,16 -rates ,", "0 rates"},
		{"-widths 8,16 -arms norm=rmsnorm", "-arms: not of lab transfer"},
		{"-widths 8,16 -learning_rate 1", "-learning_rate: not of lab transfer"},
		{"-widths 8,16 -until told", "-until: not of lab transfer"}, {"-widths 7,16", "n_embd|7"},
		{"-widths 8,16 -attention linear", "attention|linear"}, {"-widths 8,16 -optimizer sgd", "optimizer|sgd"},
		{"-widths 8,16 -n_embd 8", "-n_embd: not of lab transfer"},
	})
}
