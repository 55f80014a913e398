package page_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/verify/equation"
)

// equations returns the page of two papers, in which Block.Forward calls Norm.Forward and Layer.Forward, and the latter
// is of an interface. No equation names Norm.Forward, and Unused is not in the page.
func equations() page.Equations {
	at := equation.Place{File: "verify/hand/block.go", Line: 7}
	return page.NewEquations(equation.Index{
		Marks: []string{"exact", "agreement", "bound", "cases", "once", "trusted"},
		Papers: []equation.Paper{
			{Title: "A. One, A paper", Equations: []equation.Equation{
				{
					Number: 1, States: "The <b>block</b>", Formulas: []string{"Block.Forward"}, Test: "TestOneEq01",
					Distance: "1e-16", Place: at,
				},
				{Number: 2, States: "names it"},
			}},
			{Title: "B. Two, Another", Equations: []equation.Equation{
				{Number: 1, States: "The sum is a sum", Test: "TestTwoEq01", Distance: "0, exact", Place: at},
				{
					Number: 2, States: "The block again", Formulas: []string{"Block.Forward", "Sum.Forward"},
					Test: "TestTwoEq02", Place: at,
				},
			}},
		},
		Formulas: []equation.Formula{
			{Name: "Block.Forward", Place: at, Calls: []string{"Layer.Forward", "Norm.Forward"}},
			{Name: "Norm.Forward", Place: at, Calls: []string{"Sum.Forward"}},
			{Name: "Sum.Forward", Place: at, Source: "// Forward adds.\nfunc (s Sum) Forward() {}"},
			{Name: "Unused", Place: at},
		},
	}, "../pedestrian", map[string]page.Chapter{"Sum.Forward": {Title: "chapter 2, A sum", Link: "chapters/02.md"}})
}

// A formula is one level above the highest that it calls.
func TestLevels(t *testing.T) {
	const want = "[[Layer.Forward Sum.Forward] [Norm.Forward] [Block.Forward]]"
	if got := fmt.Sprint(equations().Levels()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	round := page.Equations{Calls: map[string][]string{"A": {"B"}, "B": {"A"}}}
	if got := round.Levels(); len(got) != 2 {
		t.Errorf("formulas that call each other: got %v, want two levels", got)
	}
}

// A row has its mark and the line of its test, and nothing in it is read as HTML.
func TestEquations(t *testing.T) {
	var b strings.Builder
	if err := equations().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`data-mark="2" data-formulas="Block.Forward"`, `<td class="states">The &lt;b&gt;block&lt;/b&gt;</td>`,
		`2 agreement <small>2</small>`,
		`<a tabindex="-1" href="../pedestrian/verify/hand/block.go#L7">TestOneEq01</a>`,
		`Block.Forward <small>2</small>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("want %s in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "Unused") {
		t.Error("got a formula on which no equation builds")
	}
}

// In a browser, the filters and the search leave the right rows, keys reach every row and formula, a chosen one shows
// what it builds on, every element that can have the focus has a name, and the console has no errors.
func TestBrowserEquations(t *testing.T) {
	var html strings.Builder
	must(t, equations().Write(&html))
	b := browser.Open(t)
	b.Show(900, 700, "light")
	b.Visit(saved(t, html.String()))
	says := func(element, want string) {
		t.Helper()
		if got := b.Ask(`document.getElementById("` + element + `").textContent`); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	says("count", "4 of 4 equations")
	b.Ask(`document.querySelector("#equations .equation").focus()`)
	b.Press("End")
	says("says", "(2) checks Block.Forward, Sum.Forward, which build on Layer.Forward, Norm.Forward.")
	if got := b.Ask(`document.querySelectorAll("#arrows .on").length`); got != "6" {
		t.Errorf("got %s pieces of marked arrows, want 6", got)
	}
	says("sources", "Sum.Forward, derived in chapter 2, A sum// Forward adds.")
	b.Ask(`document.querySelector("#formulas .formula").focus()`)
	b.Press("ArrowRight")
	says(
		"says",
		"Sum.Forward: calls no other formula; called by Norm.Forward; checked by TestTwoEq02. verify/hand/block.go:7",
	)
	for what, want := range map[string]string{
		`search.value = "block"; search.oninput()`:                          "2 of 4 equations",
		`search.value = ""; document.querySelector("[name=paper]").click()`: "2 of 4 equations",
		`search.value = "sum is"; search.oninput()`:                         "1 of 4 equations",
		`document.querySelectorAll("[name=mark]")[1].click()`:               "2 of 4 equations",
	} {
		b.Visit(saved(t, html.String()))
		b.Ask(`(() => { const search = document.getElementById("search"); ` + what + ` })()`)
		if says("count", want); t.Failed() {
			t.Log(what)
		}
	}
	for _, name := range b.Named() {
		if role, label, _ := strings.Cut(name, " "); label == "" && role != "RootWebArea" {
			t.Errorf("an element of role %s has no name", role)
		}
	}
	for _, scheme := range []string{"dark", "light"} {
		for _, width := range []int{400, 1280} {
			b.Show(width, 800, scheme)
			if found := b.Faults(); found != "" {
				t.Errorf("%s, %d wide: %s", scheme, width, found)
			}
		}
	}
	if len(b.Errors) > 0 {
		t.Errorf("got errors on the console: %v", b.Errors)
	}
}
