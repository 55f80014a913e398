package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
)

// reported returns a report of three trials.
func reported() *Report {
	curve := []Point{{3, 4.5, 4.75}, {6, 2.5, 3}}
	return &Report{Trials: []*Trial{
		{Text: "a/b.txt", Arm: "norm=rmsnorm", Setting: "rate=2", Tuning: true, Seed: 7, Key: "k1",
			Result: Result{Diverged: 2}},
		{Text: "a/b.txt", Arm: "norm=rmsnorm", Seed: 8, Key: "k2",
			Result: Result{Loss: 3.25, Steps: 6, Parameters: 90, Tokens: 12, FLOPs: 1e6, Curve: curve},
			Timing: Timing{Seconds: 0.5, Ms: 20}},
		{Text: "a/b.txt", Arm: "norm=rmsnorm", Seed: 9, Key: "k3", Result: Result{Loss: 3, Steps: 6}},
	}}
}

// Results that another run repeats are in another file than times, and a sheet has both.
func TestWrite(t *testing.T) {
	dir, r := t.TempDir(), reported()
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"results.jsonl": `"key":"k2"`, "timings.jsonl": `"Seed":8,"Key":"k2","seconds":0.5,`,
		"results.csv": "\na/b.txt,norm=rmsnorm,rate=2,true,7,,2,0,0,0,0,0,0\n" +
			"a/b.txt,norm=rmsnorm,,false,8,3.25,0,90,6,12,1e+06,0.5,20\n",
	} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: got %s, %v, want %s", name, data, err, want)
		}
		if name == "results.jsonl" && strings.Contains(string(data), "seconds") {
			t.Errorf("%s: got %s, want no times", name, data)
		}
	}
	if got, want := r.Seeds(), "8 to 9, 7 for tuning"; got != want {
		t.Errorf("seeds: got %q, want %q", got, want)
	}
	if err := os.MkdirAll(filepath.Join(dir, "timings.jsonl", "in the way"), 0o755); err == nil {
		t.Fatal("want a file in the way")
	}
	if err := r.Write(filepath.Join(dir, "results.csv")); err == nil {
		t.Error("a file for a directory: want an error")
	}
	if err := (*Report)(nil).Write(dir); err == nil {
		t.Error("no report: want an error")
	}
}

// A report says what an arm changes, its code included.
func TestChanges(t *testing.T) {
	base, arm := Row{Config: gpt.Shakespeare()}, Row{Config: gpt.Shakespeare()}
	arm.Versions = map[string]string{"arm": "v2"}
	arm.Config.Norm, arm.Config.NLayer = "rmsnorm", 3
	got, err := arm.Changes(base)
	if want := "n_layer=3; norm=\"rmsnorm\"; code of the arm: v2"; err != nil || strings.Join(got, "; ") != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
