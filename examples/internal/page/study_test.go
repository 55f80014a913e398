package page_test

import (
	"os"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// In a browser, keys choose an arm, which all pictures show, another text and another cost; nothing is cut off, and the
// console has no errors.
func TestBrowserStudy(t *testing.T) {
	b := browser.Open(t)
	t.Chdir(t.TempDir())
	type object = map[string]any
	var tables []object
	for _, name := range []string{"first", "second"} {
		var rows []object
		for i, arm := range []string{"baseline", "norm=<i>rmsnorm</i>", "attention=linear", "block=post"} {
			r := object{"arm": arm, "seeds": 3, "parameters": 1000 - i, "loss": 2 + float64(i)/10, "se": 0.01,
				"ms_per_step": 5 - i,
				"seconds":     2, "bits_per_byte": 3, "measures": object{"memory": 12}, "curve": []object{
					{"Step": 10, "Mean": 3, "SD": 0.1}, {"Step": 20, "Mean": 2, "SD": 0.2},
				}}
			if i > 0 {
				r["difference"] = object{"mean": 0.1, "low": -0.1, "high": 0.3, "p_holm": 0.01, "p_sign_flip": 0.25,
					"verdict": "worse (provisional)", "provisional": true,
					"estimate": 0.08, "doubt": "few values"}
			}
			if i == 3 {
				r["seeds"], r["diverged"], r["curve"] = 0, 3, nil
				delete(r, "difference")
			}
			rows = append(rows, r)
		}
		tables = append(tables, object{"text": name, "rows": rows})
	}
	p := page.Study{
		Title: "a <b>study</b>", Facts: [][2]string{{"budget", "steps=20"}}, Study: object{"tables": tables},
	}
	must(t, file.Replace("study.html", p.Write))
	dir, err := os.Getwd()
	must(t, err)
	b.Show(1000, 800, "light")
	b.Visit("file://" + dir + "/study.html")
	b.Wait(`document.querySelector("h1").textContent`, "a <b>study</b>")
	b.Wait(`document.getElementById("says").textContent`, "baseline; memory 12")
	b.Press("Tab", "Tab", "ArrowDown")
	b.Wait(
		`document.getElementById("says").textContent`,
		"norm=<i>rmsnorm</i>; worse (provisional); few values, so sign flips decide; estimate +0.0800 without the "+
			"bias of early looks; memory 12",
	)
	b.Wait(`document.querySelector("#pareto .bold").textContent`, "norm=<i>rmsnorm</i>")
	b.Press("End")
	b.Wait(`document.getElementById("says").textContent`, "block=post; 3 seeds diverged; memory 12")
	b.Press("Tab", "Home")
	b.Wait(`document.activeElement.ariaValueText`, "step 0: ")
	b.Press("End")
	b.Wait(`document.activeElement.ariaValueText`, "step 20: baseline 2, norm=<i>rmsnorm</i> 2, attention=linear 2")
	b.Press("Tab", "ArrowRight")
	b.Wait(`document.querySelector("#pareto figcaption").textContent`, "loss against parameters")
	for what, want := range map[string]string{
		`document.querySelectorAll("#forest circle").length`:                                         "2",
		`document.querySelectorAll("#pareto circle").length`:                                         "3",
		`document.querySelectorAll("#curves polygon").length`:                                        "4",
		`document.querySelector("#arms tr:nth-child(2) th").textContent`:                             "norm=<i>rmsnorm</i>worse (provisional)",
		`document.querySelector("#arms tr:nth-child(2) td").textContent`:                             "+0.1000 (−0.1000 to +0.3000)",
		`document.querySelector("#forest circle").getAttribute("fill")`:                              "var(--card)",
		`document.getElementById("drawn").textContent`:                                               "All arms are drawn.",
		`document.querySelector(".interval").textContent`:                                            "adjusted as the verdicts are, for all arms and looks",
		`document.getElementById("names").textContent`:                                               "baselinenorm=<i>rmsnorm</i>attention=linearblock=post",
		`[...document.querySelectorAll("#pareto svg circle ~ text")].map(e => e.textContent).join()`: "1,2,3",
		`document.querySelector("#matrix tr:last-child").textContent`:                                "block=postdivergeddiverged",
	} {
		if got := b.Ask(what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	for _, width := range []int{1400, 1200, 420} {
		b.Show(width, 800, "dark")
		// The verdicts are in the window without scrolling, and so are the differences.
		out := b.Ask(`[...document.querySelectorAll("#arms th span, #arms td:nth-child(2)")].filter(e =>
			e.textContent && e.getBoundingClientRect().right > innerWidth).map(e => e.textContent).join("; ")`)
		if out != "" {
			t.Errorf("%d pixels: outside of the window: %s", width, out)
		}
		// Nothing is too small to read, once the page has drawn the pictures for the width.
		b.Wait(`[...document.querySelectorAll("#forest text, #curves text, #pareto text")].filter(e =>
			e.getBoundingClientRect().height < 11).map(e => e.textContent).join("; ")`, "")
		if faults := b.Faults(); faults != "" {
			t.Errorf("%d pixels:\n%s", width, faults)
		}
	}
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %s", b.Errors)
	}
}
