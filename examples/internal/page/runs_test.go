package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
	"github.com/pedestrian-ml/pedestrian/examples/internal/live"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// add appends text to a file.
func add(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(t, err)
	_, err = f.WriteString(text)
	must(t, err)
	must(t, f.Close())
}

func step(n int, loss float64) string {
	data, _ := json.Marshal(program.StepLine{Step: n, Loss: loss, LR: 0.001, Norm: 1, TokPerS: 1000,
		MaxIters: 4000, ETA: float64(4000-n) / 16})
	return string(data) + "\n"
}

func listen(t *testing.T, dirs ...string) *live.Server {
	t.Helper()
	s, err := live.Listen("127.0.0.1:0", dirs...)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// The loads of experts are shown in the step of the cursor: a row for each layer, and a chart of the largest load.
func TestBrowserExperts(t *testing.T) {
	b := browser.Open(t)
	t.Chdir(t.TempDir())
	must(t, os.Mkdir("mixture", 0o755))
	for n := 1; n <= 40; n++ {
		line := program.StepLine{Step: n, Loss: 1, LR: 0.001, Norm: 1, TokPerS: 1000}
		for i := range 3 {
			own := program.LoadLine{Layer: fmt.Sprintf("h.%d.mlp", i), Imbalance: 1 + float64(3-i)/float64(n)}
			for e := range 8 {
				own.Load = append(own.Load, float64((e*(i+3)+n)%8)/14)
			}
			line.Experts = append(line.Experts, own)
		}
		data, err := json.Marshal(line)
		must(t, err)
		add(t, filepath.Join("mixture", program.MetricsFile), string(data)+"\n")
	}
	evaluation, err := json.Marshal(
		program.EvalLine{
			Step: 40, Train: 1, Val: 1, Starving: []program.StarvingLine{{Layer: "h.1.mlp", Experts: []int{2, 5}}},
		},
	)
	must(t, err)
	add(t, filepath.Join("mixture", program.MetricsFile), string(evaluation)+"\n")
	s := listen(t, "mixture")
	b.Show(1000, 800, "light")
	b.Visit(s.URL)
	b.Wait(`document.getElementById("state").textContent`, "live")
	b.Wait(`document.querySelectorAll("#loads tr").length`, "3")
	const chart = `[...document.querySelectorAll("#charts figure:not([hidden]) [role=slider]")].at(-1)`
	b.Wait(chart+`.ariaLabel`, "largest load of an expert over the mean load")
	b.Wait(chart+`.ariaValueText`, "step 40: worst layer 1.07, mean 1.05")
	b.Wait(
		`document.querySelector("#loads tr").innerText.replaceAll("\t", " ")`,
		"mixture 40 h.0.mlp 1.07 50.0 % of 5 0.0 % of 0",
	)
	b.Wait(`document.querySelector("#loads canvas").ariaLabel`, "expert 0 0.0 %, expert 1 21.4 %")
	b.Wait(
		`document.getElementById("starving").textContent`,
		"h.1.mlp: experts 2, 5 starve, with less than a tenth of the mean tokens before step 40.",
	)
	b.Ask(chart + `.focus()`)
	b.Press("Home", "ArrowRight")
	b.Wait(`document.querySelector("#loads tr").innerText.replaceAll("\t", " ")`, "mixture 1 h.0.mlp 4.00")
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %s", b.Errors)
	}
}

// In a browser, two runs are shown in common charts, new lines appear while the page is open, keys move the step, the
// evaluation and the head, every element that can have the focus has a name, and the console has no errors.
func TestBrowserRuns(t *testing.T) {
	b := browser.Open(t)
	t.Chdir(t.TempDir())
	look := func(step int) live.Look {
		l := live.Look{Step: step, Sample: fmt.Sprintf("<i>behind %d</i>", step), Tokens: []string{"a", "\n"}}
		for i := range 2 {
			head := [][]float64{{1, 0}, {0.25, 0.75}}
			l.Layers = append(l.Layers, page.Layer{Name: fmt.Sprintf("h.%d", i), Heads: [][][]float64{head, head}})
		}
		return l
	}
	for i, dir := range []string{"first", "second"} {
		must(t, os.Mkdir(dir, 0o755))
		for n := 1; n <= 1000; n++ {
			add(t, filepath.Join(dir, program.MetricsFile), step(n, float64(n+i)))
		}
	}
	must(t, look(0).Add("first"))
	s := listen(t, "first", "second")
	b.Show(1000, 800, "light")
	b.Visit(s.URL)
	const text, loss = `document.body.innerText`, `document.querySelector("[role=slider]")`
	b.Wait(`document.getElementById("state").textContent`, "live")
	b.Wait(text, "<i>behind 0</i>")
	b.Wait(loss+`.ariaValueText`, "step 1000: first batch 1k, second batch 1k")
	const charts = `document.querySelectorAll("#charts figure:not([hidden])").length`
	b.Wait(charts, "4")
	add(
		t, filepath.Join("second", program.MetricsFile),
		step(2000, 7)+`{"step":2000,"train_loss":3.5,"val_loss":4.5,"bits_per_byte":6.25,"curvature":12.5}`+"\n",
	)
	b.Wait(loss+`.ariaValueText`, "step 2000: first batch 1k, second batch 7, second train 3.5, second val 4.5")
	b.Wait(charts, "5")
	b.Wait(`document.querySelector("#charts figure:last-child").innerText`, "largest eigenvalue of the Hessian")
	b.Wait(`document.querySelector("#charts figure:last-child [role=slider]").ariaValueText`, "step 2000: second 12.5")
	b.Wait(`document.querySelector("#now tr:last-child").cells[1].textContent`, "2,000 of 4,000")
	b.Wait(`document.querySelector("#now tr:last-child").cells[2].textContent`, "2 min 05 s")
	b.Wait(`document.querySelector("#now tr:last-child").cells[6].textContent`, "6.2500")
	b.Wait(`document.querySelector("#evaluations tr").cells[4].textContent`, "6.2500")
	must(t, look(1000).Add("first"))
	must(t, look(1000).Add("second"))
	b.Wait(text, "<i>behind 1000</i>")
	for what, want := range map[string]string{
		`document.querySelectorAll("#now tr").length`:           "2",
		`document.querySelectorAll("#looks article").length`:    "2",
		loss + `.querySelectorAll("polyline").length`:           "4",
		loss + `.querySelector("polyline").points.length < 801`: "true",
	} {
		if got := b.Ask(what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	b.Press("Tab", "Home", "ArrowLeft", "End", "ArrowRight")
	b.Wait(`document.activeElement.ariaValueText`, "step 2000: first batch 1k, second batch 7")
	b.Press("Home", "ArrowRight")
	b.Wait(`document.activeElement.ariaValueText`, "step 20: first batch 20, second batch 21")
	b.Press("Tab")
	b.Wait(`document.activeElement.ariaValueText`, "step 20: first 1, second 1")
	b.Press("Tab", "Tab", "Tab", "Tab", "Tab", "ArrowLeft") // the other charts, the table, the evaluation
	b.Wait(`document.activeElement.ariaValueText`, "step 0")
	b.Press("ArrowRight", "Tab", "Tab", "ArrowDown", "ArrowRight")
	b.Wait(`document.activeElement.ariaLabel`, "h.1 head 1")
	b.Wait(`document.querySelector("#looks article:last-child figcaption").textContent`, "h.1 head 1, behind step 1000")
	b.Show(400, 800, "dark")
	for _, name := range b.Named() {
		if strings.HasSuffix(name, " ") {
			t.Errorf("a %swithout a name can have the focus", name)
		}
	}
	must(t, s.Close())
	b.Wait(`document.getElementById("state").textContent`, "the program has ended")

	p, err := live.Finished("first", "second")
	must(t, err)
	must(t, file.Replace("runs.html", p.Write))
	dir, err := os.Getwd()
	must(t, err)
	b.Visit("file://" + dir + "/runs.html")
	b.Wait(loss+`.ariaValueText`, "step 2000: first batch 1k, second batch 7, second train 3.5")
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %s", b.Errors)
	}
}

// In a browser, numbers on the axes keep their zeros and differ if the ticks do, nothing is cut off or overlaps, and
// the kept lines of a long run are limited.
func TestBrowserLongRun(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	var lines strings.Builder
	for n := 10; n <= 150_000; n += 10 {
		lines.WriteString(step(n, 2+float64(n%70)/1e5))
	}
	add(t, filepath.Join(dir, program.MetricsFile), lines.String())
	s := listen(t, dir)
	b.Show(1000, 800, "light")
	b.Visit(s.URL)
	b.Wait(`document.querySelector("[role=slider]").ariaValueText`, "step 150000: batch 2")
	add(t, filepath.Join(dir, program.MetricsFile), strings.ReplaceAll(lines.String(), `"step":`, `"step":1`))
	b.Wait(`document.querySelector("[role=slider]").ariaValueText`, "step 1150000: batch 2")
	for what, want := range map[string]string{
		`labels([0, 50000, 100000, 150000])`:                "0,50k,100k,150k",
		`labels([1.9, 1.902, 1.904])`:                       "1.900,1.902,1.904",
		`labels([0, 500000, 1000000])`:                      "0,0.5M,1.0M",
		`labels([100000, 100010])`:                          "100.00k,100.01k",
		`labels([0, 2e-7, 4e-7])`:                           "0,2e−7,4e−7",
		`labels([-1, -0, 1])`:                               "−1,0,1",
		`labels([7])`:                                       "7",
		`[100000, 150000, 999999, 1e6].map(short)`:          "100k,150k,1M,1M",
		`[0, -0, 10, 100, 1000, 0.25].map(short)`:           "0,0,10,100,1k,0.25",
		`[-1234, 20, 12345, 1.5e9].map(short)`:              "−1.23k,20,12.3k,1.5G",
		`runs[0].steps.length <= 2 * most`:                  "true",
		`document.querySelector("[role=slider]").ariaLabel`: "loss, nats",
	} {
		if got := b.Ask(what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	for _, width := range []int{1400, 700, 400} {
		b.Show(width, 800, "dark")
		if faults := b.Faults(); faults != "" {
			t.Errorf("%d pixels:\n%s", width, faults)
		}
	}
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %s", b.Errors)
	}
}
