package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// In a browser: two runs are laid over each other, what is written comes while one looks, keys move the step, the
// evaluation and the head, whatever has the focus has a name, and nothing is complained of.
func TestBrowserRuns(t *testing.T) {
	b := browser.Open(t)
	t.Chdir(t.TempDir())
	look := func(step int) Look {
		l := Look{Step: step, Sample: fmt.Sprintf("<i>behind %d</i>", step), Tokens: []string{"a", "\n"}}
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
	add(t, filepath.Join("second", program.MetricsFile), step(2000, 7)+`{"step":2000,"train_loss":3.5,"val_loss":4.5}`+"\n")
	b.Wait(loss+`.ariaValueText`, "step 2000: first batch 1k, second batch 7, second train 3.5, second val 4.5")
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
	b.Press("Tab", "Tab", "Tab", "Tab", "ArrowLeft") // the other charts, the table, the evaluation
	b.Wait(`document.activeElement.ariaValueText`, "step 0")
	b.Press("ArrowRight", "Tab", "Tab", "ArrowDown", "ArrowRight")
	b.Wait(`document.activeElement.ariaLabel`, "h.1 head 1")
	b.Wait(`document.querySelector("#looks article:last-child figcaption").textContent`, "h.1 head 1, behind step 1000")
	b.Show(400, 800, "dark")
	for _, name := range b.Named() {
		if strings.HasSuffix(name, " ") {
			t.Errorf("the focus may be on a %swithout a name", name)
		}
	}
	must(t, s.Close())
	b.Wait(`document.getElementById("state").textContent`, "the program has ended")

	p, err := Finished("first", "second")
	must(t, err)
	must(t, file.Replace("runs.html", p.Write))
	dir, err := os.Getwd()
	must(t, err)
	b.Visit("file://" + dir + "/runs.html")
	b.Wait(loss+`.ariaValueText`, "step 2000: first batch 1k, second batch 7, second train 3.5")
	if len(b.Errors) > 0 {
		t.Errorf("the console complains: %s", b.Errors)
	}
}
