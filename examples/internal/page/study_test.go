package page_test

import (
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// In a browser, keys choose an arm, which all pictures show, another text and another cost; nothing is cut off, and the
// console has no errors.
func TestBrowserStudy(t *testing.T) {
	b := browser(t)
	t.Chdir(t.TempDir())
	type object = map[string]any
	var tables []object
	for _, name := range []string{"first", "second"} {
		var rows []object
		for i, arm := range []string{"baseline", "norm=<i>rmsnorm</i>", "attention=linear", "block=post"} {
			r := object{"arm": arm, "seeds": 3, "parameters": 1000 - i, "loss": 2 + float64(i)/10, "se": 0.01, "ms_per_step": 5 - i,
				"seconds": 2, "bits_per_byte": 3, "measures": object{"memory": 12}, "curve": []object{{"Step": 10, "Mean": 3, "SD": 0.1}, {"Step": 20, "Mean": 2, "SD": 0.2}}}
			if i > 0 {
				r["difference"] = object{"mean": 0.1, "low": -0.1, "high": 0.3, "p_holm": 0.01, "p_sign_flip": 0.25, "verdict": "worse"}
			}
			if i == 3 {
				r["seeds"], r["diverged"], r["curve"] = 0, 3, nil
				delete(r, "difference")
			}
			rows = append(rows, r)
		}
		tables = append(tables, object{"text": name, "rows": rows})
	}
	p := page.Study{Title: "a <b>study</b>", Facts: [][2]string{{"budget", "steps=20"}}, Study: object{"tables": tables}}
	must(t, file.Replace("study.html", p.Write))
	dir, err := os.Getwd()
	must(t, err)
	b.show(1000, 800, "light")
	b.visit("file://" + dir + "/study.html")
	b.wait(`document.querySelector("h1").textContent`, "a <b>study</b>")
	b.wait(`document.getElementById("says").textContent`, "baseline; memory 12")
	b.press("Tab", "Tab", "ArrowDown")
	b.wait(`document.getElementById("says").textContent`, "norm=<i>rmsnorm</i>; worse; memory 12")
	b.wait(`document.querySelector("#pareto .bold").textContent`, "norm=<i>rmsnorm</i>")
	b.press("End")
	b.wait(`document.getElementById("says").textContent`, "block=post; 3 seeds diverged; memory 12")
	b.press("Tab", "Home")
	b.wait(`document.activeElement.ariaValueText`, "step 0: ")
	b.press("End")
	b.wait(`document.activeElement.ariaValueText`, "step 20: baseline 2, norm=<i>rmsnorm</i> 2, attention=linear 2")
	b.press("Tab", "ArrowRight")
	b.wait(`document.querySelector("#pareto figcaption").textContent`, "loss against parameters")
	for what, want := range map[string]string{
		`document.querySelectorAll("#forest circle").length`:          "2",
		`document.querySelectorAll("#pareto circle").length`:          "3",
		`document.querySelectorAll("#curves polygon").length`:         "4",
		`document.querySelector("#matrix tr:last-child").textContent`: "block=postdivergeddiverged",
	} {
		if got := b.ask(what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	for _, width := range []int{1400, 400} {
		b.show(width, 800, "dark")
		if faults := b.faults(); faults != "" {
			t.Errorf("%d pixels:\n%s", width, faults)
		}
	}
	if len(b.errors) > 0 {
		t.Errorf("errors on the console: %s", b.errors)
	}
}
