package main

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/verify"
)

// The formulas of whole models are equal without rounding, and every part of the library occurs in one of them,
// and in ten with NIGHTLY=1, so that a part for which the road has no way is seen here. By day every third model is
// computed.
func TestEveryPartInModels(t *testing.T) {
	least, every := 1, 3
	if os.Getenv("NIGHTLY") != "" {
		least, every = 10, 1
	}
	models, err := randomModels(rand.New(rand.NewPCG(3, 4)), 0, least)
	if err != nil {
		t.Fatal(err)
	}
	count, vain, pairs := map[string]int{}, 0, 0
	for i, m := range models {
		for _, part := range m.parts() {
			count[part]++
		}
		if m.pairs {
			pairs++
		}
		if i%every > 0 {
			continue
		}
		r, more, err := m.exact()
		if err != nil || r.Differing > 0 || r.Draws != 1 {
			t.Errorf("%v: %d entries differ at %d points, error %v", m.parts(), r.Differing, r.Draws, err)
		}
		vain += more
	}
	for _, k := range kinds() {
		for _, name := range k.names {
			if got := count[k.key+" "+name]; got < least {
				t.Errorf("%s %s: got %d models, want %d", k.key, name, got, least)
			}
		}
	}
	t.Logf("%d models, %d of pairs, %d points in vain", len(models), pairs, vain)
	if vain > len(models)/every/10 || pairs < least {
		t.Errorf(
			"got %d points in vain and %d models of pairs, want at most %d and at least %d", vain, pairs,
			len(models)/every/10, least,
		)
	}
}

// Every flag that names a part is a kind, except those whose parts the formulas do not have: a new kind fails here.
func TestKindsAreAll(t *testing.T) {
	c := gpt.Shakespeare()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	c.Flags(flags)
	others := []string{"initialization", "optimizer", "schedule", "precision", "muon_scale", "parametrization",
		"rope_scaling", "lora_scale", "scoring_func"}
	flags.VisitAll(func(f *flag.Flag) {
		known := slices.ContainsFunc(kinds(), func(k kind) bool { return k.key == f.Name })
		err := f.Value.Set("unlikely")
		if names := err != nil && strings.Contains(err.Error(), "want"); names && !known &&
			!slices.Contains(others, f.Name) {
			t.Errorf("%s: no random model has its parts: %v", f.Name, err)
		}
	})
}

// A model that is nowhere differentiable is refused with its parts after a hundred points: a token's only two hidden
// features are the same, so that the norm after the MLP divides by 0.
func TestUndefined(t *testing.T) {
	m := whole{Config: randomSizes(rand.New(rand.NewPCG(1, 1))), batch: 1}
	m.Norm, m.NEmbd, m.NHead = "layernorm_sigma", 1, 1
	if _, vain, err := m.exact(); !errors.Is(err, verify.ErrUndefined) ||
		!strings.Contains(err.Error(), "norm layernorm_sigma") || vain != 99 {
		t.Errorf("got error %v after %d points in vain", err, vain)
	}
}
