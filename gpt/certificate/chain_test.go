package certificate

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a run without code of its own.
func sample() Run {
	return Run{Kind: Decoder, Config: json.RawMessage(`{"n_layer":2,"seed":7}`), Text: hashed([]byte("a text")),
		Tokenizer: Tokenizer{"character", 65, hashed([]byte("letters"))}}
}

// loss and norm of a step of the test's run.
func numbers(step int) (loss, norm float64) {
	rng := rand.New(rand.NewPCG(uint64(step), 3))
	return 4 * rng.Float64(), rng.ExpFloat64()
}

// stateAt returns the hashes of a checkpoint of the test's run.
func stateAt(step int) State {
	return State{Weights: hashed(fmt.Append(nil, "weights", step)), Moments: hashed(fmt.Append(nil, "moments", step)),
		Draws: hashed(fmt.Append(nil, "draws", step))}
}

// trained adds the steps up to the given one, with a checkpoint after every number of steps.
func trained(c *Chain, end, interval int) {
	for step := c.Step() + 1; step <= end; step++ {
		loss, norm := numbers(step)
		c.Add(step, loss, norm)
		if step%interval == 0 || step == end {
			c.Saved(stateAt(step))
		}
	}
}

// written returns the certificate of a chain, encoded and decoded.
func written(t *testing.T, c Chain) (*Certificate, []byte) {
	t.Helper()
	made, err := c.Certificate(sample())
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return read, data
}

// steps lists the steps of links, with a * at checkpoints.
func steps(c *Certificate) string {
	var list []string
	for _, l := range c.Links {
		mark := ""
		if l.State != (State{}) {
			mark = "*"
		}
		list = append(list, fmt.Sprint(l.Step, mark))
	}
	return strings.Join(list, " ")
}

// The links are at the powers of two up to 16, at every n-th step, and at checkpoints.
func TestLinks(t *testing.T) {
	for _, test := range []struct {
		to, every int
		want      string
	}{
		{0, 1, ""},
		{1, 5, "1*"},
		{7, 5, "1 2 3 4 5* 6 7*"},
		{12, 99, "1 2 3 4 5 6 7 8 9 10 11 12*"},
		{13, 99, "1 2 4 6 8 10 12 13*"},
		{300, 100, "1 2 4 8 16 32 64 96 100* 128 160 192 200* 224 256 288 300*"},
		{1000, 100, "1 2 4 8 16 128 200* 256 384 400* 512 600* 640 768 896 900* 1000*"},
	} {
		var c Chain
		trained(&c, test.to, test.every)
		if got, _ := written(t, c); steps(got) != test.want {
			t.Errorf("%d steps: got links at %s, want %s", test.to, steps(got), test.want)
		}
	}
}

// However long a run is, and however often it is saved, a certificate has at most 10 kB.
func TestSize(t *testing.T) {
	longest := 0
	for _, interval := range []int{1, 7, 250, 1000} {
		c := Chain{leftOut: 9}
		for i := range maxBuilds {
			b := ThisBuild()
			b.From, b.Commit, b.Go = 0, strings.Repeat("c", 40), fmt.Sprint("go1.99.", i)
			b.Module = "v0.0.0-20261128044502-3530cb84aaaa h1:" + strings.Repeat("h", 44)
			c.builds = append(c.builds, b)
		}
		for step := 1; step < 70000; step++ {
			loss, norm := numbers(step)
			c.Add(step, loss, norm)
			if step%interval == 0 {
				s := stateAt(step)
				s.States = s.Weights
				c.Saved(s)
			}
			if step < 300 || step%4999 == 0 {
				_, data := written(t, c)
				longest = max(longest, len(data))
			}
		}
	}
	const config = 2500 // bytes of the largest one of which it is promised
	if longest += config; longest > 10_000 {
		t.Errorf("got %d bytes, want at most 10,000", longest)
	}
	t.Logf("at most %d bytes with a configuration of %d", longest, config)
}

// A run that ends at any step and is resumed from its certificate has the certificate of one that does not end.
func TestResume(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var uninterrupted Chain
	trained(&uninterrupted, 700, 20)
	want, _ := written(t, uninterrupted)
	for range 20 {
		var c Chain
		for c.Step() < 700 {
			at := c.Step()
			for range 1 + rng.IntN(5) { // checkpoints, after which the process is killed
				trained(&c, min(700, (c.Step()/20+1)*20), 20)
			}
			saved, _ := written(t, c)
			trained(&c, min(c.Step()+rng.IntN(19), 700), 1000) // steps that are lost
			var err error
			if c, err = saved.Resume(saved.Last().Step, ThisBuild()); err != nil {
				t.Fatal(err)
			}
			if c.Step() <= at {
				t.Fatalf("no progress at step %d", at)
			}
		}
		if got, _ := written(t, c); !cmp.Equal(got, want) {
			t.Fatalf("the certificate differs: %s", cmp.Diff(want, got))
		}
	}
}

// Another build that resumes a run is listed with its first step, and of many the middle ones are left out.
func TestBuilds(t *testing.T) {
	var c Chain
	for i := range 7 {
		trained(&c, 10*(i+1), 10)
		saved, _ := written(t, c)
		b := ThisBuild()
		b.Go = fmt.Sprint("go1.", 30+i)
		var err error
		if c, err = saved.Resume(10*(i+1), b); err != nil {
			t.Fatal(err)
		}
		if c, err = saved.Resume(10*(i+1), b); err != nil {
			t.Fatal(err)
		}
	}
	trained(&c, 80, 10)
	got, _ := written(t, c)
	var from []int
	for _, b := range got.Builds {
		from = append(from, b.From)
	}
	if !slices.Equal(from, []int{0, 60, 70}) || got.LeftOut != 5 || got.Builds[2].Go != "go1.36" {
		t.Errorf("got builds %v and %d left out", got.Builds, got.LeftOut)
	}
	saved, _ := written(t, c)
	for _, step := range []int{79, 81} {
		if _, err := saved.Resume(step, ThisBuild()); err == nil {
			t.Errorf("resumed at step %d from a certificate of step 80", step)
		}
	}
}

// The digest depends on every bit of every number, and on their order.
func TestDigest(t *testing.T) {
	of := func(change func(step int, loss, norm *float64)) string {
		var c Chain
		for step := 1; step <= 30; step++ {
			loss, norm := numbers(step)
			change(step, &loss, &norm)
			c.Add(step, loss, norm)
		}
		made, _ := written(t, c)
		return made.Last().Digest
	}
	seen := map[string]string{of(func(int, *float64, *float64) {}): "none"}
	for at := 1; at <= 30; at++ {
		for name, change := range map[string]func(loss, norm *float64){
			"loss": func(loss, _ *float64) { *loss = math.Nextafter(*loss, 0) },
			"norm": func(_, norm *float64) { *norm = math.Nextafter(*norm, 9) },
			"swap": func(loss, norm *float64) { *loss, *norm = *norm, *loss },
			"zero": func(loss, _ *float64) { *loss = 0 },
			"−0":   func(loss, _ *float64) { *loss = math.Copysign(0, -1) },
		} {
			digest := of(func(step int, loss, norm *float64) {
				if step == at {
					change(loss, norm)
				}
			})
			if earlier, twice := seen[digest]; twice {
				t.Errorf("step %d, %s: the digest of %s", at, name, earlier)
			}
			seen[digest] = fmt.Sprint(name, at)
		}
	}
}

// A chain whose steps do not follow one another begins anew, and says from where on.
func TestBeginsAnew(t *testing.T) {
	var c Chain
	trained(&c, 5, 5)
	c.Add(9, 1, 2)
	c.Add(10, 1, 2)
	c.Saved(stateAt(10))
	got, _ := written(t, c)
	if got.From != 8 || steps(got) != "9 10*" || got.Builds[0].From != 8 {
		t.Errorf("got from %d, %s, %v", got.From, steps(got), got.Builds)
	}
	if c := Begin(12); c.Step() != 12 {
		t.Errorf("got step %d", c.Step())
	}
	var none *Chain
	none.Add(1, 2, 3)
	none.Saved(State{})
	if _, err := none.Certificate(sample()); err == nil || none.Step() != 0 {
		t.Error("no chain has a certificate")
	}
}

// Adding a step allocates nothing, but for the link of one step in many.
func TestAddAllocatesNothing(t *testing.T) {
	c := Begin(1 << 20)
	if got := testing.AllocsPerRun(10_000, func() { c.Add(c.Step()+1, 2.5, 1.25) }); got >= 1 {
		t.Errorf("got %v allocations a step", got)
	}
}

// A step of the smallest recipe takes 10 ms.
func BenchmarkAdd(b *testing.B) {
	var c Chain
	b.ReportAllocs()
	for b.Loop() {
		c.Add(c.Step()+1, 2.5, 1.25)
	}
}

func BenchmarkEncode(b *testing.B) {
	var c Chain
	trained(&c, 2000, 250)
	for b.Loop() {
		made, err := c.Certificate(sample())
		if err == nil {
			_, err = made.Encode()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
