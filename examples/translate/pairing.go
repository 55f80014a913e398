package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
	"github.com/pedestrian-ml/pedestrian/gpt/train"
	"github.com/pkg/errors"
)

// pairingFile is the file of a checkpoint that describes the texts of the run.
const pairingFile = "corpus.json"

// pairing describes the texts, their tokens, and the share held out. It is fixed for a run.
type pairing struct {
	Data       string  `json:"data"`   // a path; empty for numbers
	SHA256     string  `json:"sha256"` // of the file; empty for numbers
	Below      int     `json:"below"`
	SourceUnit string  `json:"source_unit"`
	TargetUnit string  `json:"target_unit"`
	HeldOut    float64 `json:"held_out"`
}

// defaultPairing returns the pairing of all numbers, English to Italian.
func defaultPairing() pairing {
	return pairing{Below: 1_000_000, SourceUnit: "words", TargetUnit: "characters", HeldOut: 0.005}
}

func (p *pairing) flags(set *flag.FlagSet) {
	set.StringVar(&p.Data, "data", p.Data,
		"file with a source, a tab and its translation in each line; by default numbers, English to Italian")
	set.IntVar(&p.Below, "below", p.Below, "upper limit of the numbers, exclusive")
	set.StringVar(&p.SourceUnit, "source_unit", p.SourceUnit, "tokens of the source: words, characters")
	set.StringVar(&p.TargetUnit, "target_unit", p.TargetUnit, "tokens of the target: words, characters")
	set.Float64Var(&p.HeldOut, "held_out", p.HeldOut, "share of the texts that are never trained on")
}

func (p pairing) check() error {
	unit := func(name string) error { _, err := seq2seq.NewVocabulary(name); return err }
	return cmp.Or(
		program.Want(20 <= p.Below && p.Below <= 1_000_000, "-below", p.Below, "20 to 1000000"),
		errors.Wrap(unit(p.SourceUnit), "-source_unit"),
		errors.Wrap(unit(p.TargetUnit), "-target_unit"),
		program.Want(0 < p.HeldOut && p.HeldOut < 1, "-held_out", p.HeldOut, "a number between 0 and 1"),
	)
}

// pairingOf returns the pairing of a checkpoint, or nil if it was saved by an earlier version without one.
func pairingOf(cp *checkpoint.Checkpoint) (*pairing, error) {
	p := new(pairing)
	err := train.PeekJSON(cp, pairingFile, p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}

func (p pairing) file() checkpoint.File {
	return checkpoint.File{Name: pairingFile, Write: train.WriteJSON(p)}
}

// diff returns an error that names every setting in which p differs from the saved one.
func (p pairing) diff(was pairing) error {
	var list []string
	for _, f := range []struct {
		name     string
		got, was any
	}{
		{"below", p.Below, was.Below}, {"source_unit", p.SourceUnit, was.SourceUnit},
		{"target_unit", p.TargetUnit, was.TargetUnit}, {"held_out", p.HeldOut, was.HeldOut},
	} {
		if f.got != f.was {
			list = append(list, fmt.Sprintf("%s: got %v, want %v as saved", f.name, f.got, f.was))
		}
	}
	if list == nil {
		return nil
	}
	return errors.New(strings.Join(list, "; "))
}

// same returns an error if the texts differ from the saved ones.
func (p pairing) same(was pairing) error {
	if p.SHA256 == was.SHA256 {
		return nil
	}
	return errors.Errorf("another text: the run is on %.80q (sha256 %.8s…), this is %.80q (sha256 %.8s…); "+
		"set -data to the path of the run's text",
		cmp.Or(was.Data, "numbers"), cmp.Or(was.SHA256, "none"), cmp.Or(p.Data, "numbers"), cmp.Or(p.SHA256, "none"))
}
