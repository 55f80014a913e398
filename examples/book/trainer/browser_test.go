package trainer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/book/trainer"
	"github.com/pedestrian-ml/pedestrian/examples/book/trainer/internal/session"
	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
)

// text returns the text of the element with an id, as an expression of JavaScript.
func text(id string) string { return fmt.Sprintf("document.getElementById(%q).textContent", id) }

// until waits for an expression that the page makes true while it trains.
func until(t *testing.T, b *browser.Tab, what, expression string) {
	t.Helper()
	got := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got = b.Ask(expression); got == "true" {
			return
		}
	}
	t.Fatalf("%s: %s is %s; the page says %q and %q", what, expression, got, b.Ask(text("says")), b.Ask(text("notice")))
}

// TestBrowser writes the page once, and opens it in a browser.
func TestBrowser(t *testing.T) {
	b := browser.Open(t)
	dir := t.TempDir()
	if err := trainer.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	page := server.URL + "/" + trainer.Page
	t.Run("trains", func(t *testing.T) { trains(t, b, page) })
	t.Run("fits", func(t *testing.T) { fits(t, b, page) })
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %q", b.Errors)
	}
	b.Visit("file://" + filepath.Join(dir, trainer.Page))
	b.Wait(text("notice"), "Serve this folder")
}

// trains asserts that the page trains with the bits of the native program, fast enough, and answers what is asked.
func trains(t *testing.T, b *browser.Tab, page string) {
	b.Show(1280, 900, "light")
	b.Visit(page)
	until(t, b, "loading", `document.getElementById("notice").hidden && !!document.querySelector("#matrices figure")`)
	b.Ask(`document.getElementById("train").click()`)
	until(t, b, "training", `lanes[0].losses.length > 200`)
	b.Ask(`document.getElementById("train").click()`)
	const most = 300 // ten times what it may take on two idle processors
	if took, err := strconv.ParseFloat(b.Ask(`lanes[0].took`), 64); err != nil || took > most {
		t.Errorf("got %v ms for a step (%v), want at most %d", took, err, most)
	} else {
		t.Logf("%.1f ms for a step", took)
	}
	b.Ask(`document.getElementById("hash").click()`)
	until(t, b, "hash", `document.getElementById("hashes").textContent.includes("-steps")`)
	steps, err := strconv.Atoi(b.Ask(`lanes[0].losses.length`))
	if err != nil {
		t.Fatal(err)
	}
	want, err := session.Hash(session.Default(), steps)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Ask(text("hashes")); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want the hash %s of the native program after %d steps", got, want, steps)
	}

	b.Ask(`document.querySelectorAll("#matrices canvas")[3].focus()`)
	b.Press("ArrowRight", "ArrowDown", "Enter")
	until(t, b, "gradient", text("gradient")+`.includes("[1, 1]")`)
	if got := b.Ask(text("gradient")); !strings.Contains(got, "by hand") || !strings.Contains(got, "∂L/∂w") {
		t.Errorf("got %q, want a gradient by hand", got)
	}
	if hand, auto := b.Ask(`document.querySelectorAll("#gradient dd")[2].textContent.slice(0, 9)`),
		b.Ask(`document.querySelectorAll("#gradient dd")[3].textContent.slice(0, 9)`); hand != auto || len(hand) < 8 {
		t.Errorf("got %s by hand and %s by autodiff, want equal numbers", hand, auto)
	}

	b.Ask(`document.getElementById("race").click()`)
	until(t, b, "a race", `lanes.length === 2`)
	b.Ask(`document.getElementById("step").click()`)
	until(t, b, "a step of a race", `lanes.every(l => l.losses.length === 1)`)
	if first, second := b.Ask(`lanes[0].losses[0]`), b.Ask(`lanes[1].losses[0]`); first == second {
		t.Errorf("got the same first loss %s of two architectures, want different ones", first)
	}
	b.Ask(`(document.querySelector("[data-part=position]").value = "rope",
		document.querySelector("[data-part=attention]").value = "gla",
		document.getElementById("choice").dispatchEvent(new Event("change")))`)
	until(t, b, "a refusal", text("says")+`.includes("position: got rope")`)
}

// fits asserts that in every size and colour scheme the page fits, can be read, and names what can have the focus.
func fits(t *testing.T, b *browser.Tab, page string) {
	b.Visit(page)
	until(t, b, "loading", `document.getElementById("notice").hidden && !!document.querySelector("#heads canvas")`)
	b.Ask(`(document.getElementById("race").click(), document.getElementById("step").click())`)
	until(t, b, "a step", `lanes.length === 2 && lanes[1].losses.length > 0`)
	b.Ask(`document.querySelectorAll("#matrices canvas")[3].click()`)
	until(t, b, "gradient", `!document.getElementById("gradient").hidden`)
	b.Ask(`document.getElementById("hash").click()`)
	until(t, b, "hash", `!document.getElementById("hashes").hidden`)
	for _, name := range b.Named() {
		if _, after, _ := strings.Cut(name, " "); strings.TrimSpace(after) == "" {
			t.Errorf("got %q, want a name", name)
		}
	}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int{360, 768, 1280, 1600} {
			b.Show(width, 900, scheme)
			for what, fault := range map[string]string{"layout": b.Faults(), "contrast": b.Contrast()} {
				if fault != "" {
					t.Errorf("%d wide, %s: %s:\n%s", width, scheme, what, fault)
				}
			}
			if to := os.Getenv("PEDESTRIAN_PICTURES"); to != "" {
				b.Picture(filepath.Join(to, fmt.Sprintf("train-%d-%s.png", width, scheme)))
			}
		}
	}
}
