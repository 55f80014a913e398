package page_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/examples/internal/browser"
	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
)

// text returns a page of n tokens and some heads per block, with random numbers.
func text(n, blocks, heads int) page.Inside {
	p, r := page.Inside{Title: "A text", About: "For a test."}, rand.New(rand.NewPCG(1, 2))
	for i := range n {
		p.Tokens = append(p.Tokens, string(rune('a'+i%26)))
		p.Lens = append(p.Lens, nil)
		if i < n-1 {
			p.Losses = append(p.Losses, 5*r.Float64())
		}
	}
	p.Sum = &page.Sum{Logits: append([]float64{7.125}, p.Losses...)}
	for t := range n {
		p.Sum.Of = append(p.Sum.Of, p.Tokens[(t+1)%n])
	}
	for h := range heads {
		s := page.State{Name: fmt.Sprintf("h.0 head %d", h)}
		for t := range n {
			if s.Norm = append(s.Norm, float64(t)+0.123456); h > 0 {
				s.Alpha, s.Beta = append(s.Alpha, r.Float64()), append(s.Beta, 0.5)
			}
		}
		p.States = append(p.States, s)
	}
	for b := range blocks {
		name := fmt.Sprintf("h.%d", b)
		l := page.Layer{Name: name}
		for range heads {
			a := make([][]float64, n)
			for i := range a {
				a[i] = make([]float64, n)
				for j := range i + 1 {
					a[i][j] = (0.5 + r.Float64()) / float64(i+1)
				}
			}
			l.Heads = append(l.Heads, a)
		}
		p.Layers, p.Blocks = append(p.Layers, l), append(p.Blocks, name)
		for _, part := range []string{"head 0", "MLP"} {
			p.Sum.Add(name, part, append(p.Losses[1:len(p.Losses):len(p.Losses)], 1, float64(b)-1))
		}
		for i := range p.Lens {
			p.Lens[i] = append(p.Lens[i], page.Guess{"b", r.Float64(), i%3 == 0})
		}
	}
	return p
}

func written(t *testing.T, p page.Inside) string {
	t.Helper()
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// saved returns the address of a file that contains the page.
func saved(t *testing.T, html string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}

// A page of 64 tokens and 16 heads has at most 1.5 MB and no references to other files.
func TestSize(t *testing.T) {
	html := written(t, text(64, 4, 4))
	if most := 1_500_000; len(html) > most {
		t.Errorf("got %d bytes, want at most %d", len(html), most)
	}
	html = strings.Replace(html, `href="data:,"`, "", 1)
	for _, outside := range []string{"http:", "https:", "src=", "href=", "url(", "@import"} {
		if strings.Contains(html, outside) {
			t.Errorf("got a reference to another file: %q", outside)
		}
	}
}

// A weight near 0 does not become 0, which means masked.
func TestSmallWeights(t *testing.T) {
	p := page.Inside{
		Tokens: []string{"a", "b"},
		Layers: []page.Layer{{Name: "h.0", Heads: [][][]float64{{{1, 0}, {1.23456e-12, 1}}}}},
	}
	if html, want := written(t, p), `"Heads":[[[1,0],[1.235e-12,1]]]`; !strings.Contains(html, want) {
		t.Errorf("want %s in\n%s", want, html)
	}
}

// A row is the sum of its parts, in columns in the order of their first use; a row without columns is standalone.
func TestSum(t *testing.T) {
	s := &page.Sum{}
	s.Add("embedding", "", []float64{1, 2})
	s.Add("h.0", "head 0", []float64{3, 4})
	s.Add("h.0", "MLP", []float64{5, 7})
	s.Add("h.1", "MLP", []float64{-6, 8})
	want := "[{embedding map[] [1 2]} {h.0 map[MLP:[5 7] head 0:[3 4]] [8 11]} {h.1 map[MLP:[-6 8]] [-6 8]}] " +
		"[head 0 MLP]"
	if got := fmt.Sprint(s.Rows, s.Columns); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Tokens longer than twelve characters are cut, and invisible characters are replaced.
func TestSeen(t *testing.T) {
	for token, want := range map[string]string{"a": "a", " the\n\t": "␣the⏎→", "antidisestablishment": "antidisesta…",
		"":             "",
		"abcdefghijkl": "abcdefghijkl", "abcdefghijklm": "abcdefghijk…"} {
		if got := page.Seen(token); got != want {
			t.Errorf("%q: got %q, want %q", token, got, want)
		}
	}
}

// In a browser, keys reach every token and head, every element that can have the focus has a name, and the console has
// no errors.
func TestBrowserInside(t *testing.T) {
	p := text(9, 2, 3)
	p.Tokens[3], p.Tokens[4], p.Tokens[5], p.Sum.Of[4] = "\n", "</script><b>", "\"'&", "\"'&"
	b := browser.Open(t)
	b.Show(900, 700, "light")
	b.Visit(saved(t, written(t, p)))
	says := func(want string) {
		t.Helper()
		if got := b.Ask(`document.getElementById("says").textContent`); !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	focus := func(want string) {
		t.Helper()
		if got := b.Ask(`document.activeElement.ariaLabel`); !strings.Contains(got, want) {
			t.Errorf("the focus is on %q, want %q", got, want)
		}
	}
	says("Token 8 “i”: the likeliest to come is “b”")
	b.Press("Tab")
	focus("8 “i”, loss")
	b.Press("Home", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight")
	focus("4 “</script><b>”, loss")
	says("Token 4 “</script><b>”: what comes is “\"'&”, loss ")
	b.Press("Tab", "Tab", "ArrowRight", "ArrowDown", "ArrowDown")
	focus("h.1 head 1")
	if got := b.Ask(
		`document.getElementById("looks").textContent`,
	); got != "h.1 head 1: token 4 “</script><b>” looks at" {
		t.Errorf("got the table of %q", got)
	}
	for what, want := range map[string]string{
		`document.querySelectorAll("#keys tr").length`:              "5",
		`document.querySelectorAll("[aria-selected=true]").length`:  "2",
		`document.querySelector("#lens tr[aria-current]").rowIndex`: "5",
		`document.querySelector("#adds caption").textContent`:       "the logit of “\"'&” behind token 4 “</script><b>”",
		`document.querySelector("#adds tbody tr:last-child").textContent`: fmt.Sprintf(
			"the logit%.2f", p.Sum.Logits[4],
		),
		`document.querySelectorAll("#states tbody tr").length`:                            "3",
		`document.querySelector("#states tbody tr").innerText`:                            "h.0 head 0\t–\t–\t4.12\t\t",
		`document.querySelectorAll("#states tbody td:nth-child(3)")[1].innerText`:         "0.5",
		`document.querySelectorAll("#states canvas").length`:                              "5",
		`document.querySelectorAll("#adds tbody tr").length`:                              "3",
		`document.getElementById("tokens").textContent`:                                   "abc⏎\n</script><b>\"'&ghi",
		`document.documentElement.scrollWidth <= document.body.parentElement.clientWidth`: "true",
	} {
		if got := b.Ask(what); got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	b.Ask(`document.querySelector("#states canvas").dispatchEvent(new MouseEvent("click", {clientX:
		document.querySelector("#states canvas").getBoundingClientRect().left + 1}))`)
	says("Token 0 “a”")
	if got := b.Ask(`document.querySelector("#states tbody td:nth-child(4)").innerText`); got != "0.123" {
		t.Errorf("behind token 0: got a norm of %q, want 0.123", got)
	}
	for _, scheme := range []string{"dark", "light"} { // masked has none of the shades
		b.Show(400, 700, scheme)
		near := b.Ask(`(() => {
			const masked = getComputedStyle(document.querySelector("canvas")).backgroundColor.match(/\d+/g).map(Number);
			return Math.min(...Array.from({length: 256}, (_, i) => Math.hypot(...shade((i / 255) ** 2).map((c, k) => c - masked[k]))));
		})()`)
		var distance float64
		if _, err := fmt.Sscan(near, &distance); err != nil || !(distance >= 25) {
			t.Errorf("%s: the nearest shade to masked is %s away, want 25", scheme, near)
		}
	}
	for _, name := range b.Named() {
		if strings.HasSuffix(name, " ") {
			t.Errorf("a %swithout a name can have the focus", name)
		}
	}
	p.Lens, p.Losses, p.Sum, p.States = nil, nil, nil, nil
	b.Visit(saved(t, written(t, p)))
	says("Token 8")
	p.Layers, p.Tokens = nil, p.Tokens[:1]
	b.Visit(saved(t, written(t, p)))
	says("Token 0 “a”")
	if len(b.Errors) > 0 {
		t.Errorf("errors on the console: %s", b.Errors)
	}
}

// In a browser, nothing is cut off or overlaps at any width, even with many heads and blocks; the last block is in
// sight unless the window is narrow; the numbers of the scale are next to their colours.
func TestBrowserFits(t *testing.T) {
	p := text(40, 12, 12)
	for i := range p.Tokens {
		p.Tokens[i] += "gypsy_gypsy"[:i%12]
	}
	p.Losses[3] = -1e-9
	p.Sum.Rows[2].All[39], p.Sum.Rows[2].Parts["MLP"][39] = -0.001, math.Copysign(0, -1)
	b := browser.Open(t)
	b.Visit(saved(t, written(t, p)))
	for _, width := range []int{1400, 1000, 700, 400} {
		for _, scheme := range []string{"dark", "light"} {
			b.Show(width, 900, scheme)
			if faults := b.Faults(); faults != "" {
				t.Errorf("%d pixels, %s:\n%s", width, scheme, faults)
			}
			last := b.Ask(`(() => {
				const box = document.getElementById("lens").parentElement.getBoundingClientRect();
				const cell = document.querySelector("#lens thead th:last-child").getBoundingClientRect();
				return cell.left >= box.left && cell.right <= box.right;
			})()`)
			if (last == "true") != (width > 700) {
				t.Errorf("%d pixels: the last block is in sight: %s", width, last)
			}
		}
	}
	off := b.Ask(`(() => {
		const bar = document.querySelector(".scale canvas"), box = bar.getBoundingClientRect(), pen = bar.getContext("2d");
		return Math.max(...[...document.querySelectorAll(".ticks span")].map(e => {
			const r = e.getBoundingClientRect(), at = ((r.left + r.right) / 2 - box.left) / box.width;
			const got = pen.getImageData(Math.min(bar.width - 1, Math.floor(at * bar.width)), 0, 1, 1).data;
			return Math.hypot(...shade(Number(e.textContent)).map((c, i) => c - got[i]));
		}));
	})()`)
	if distance, err := strconv.ParseFloat(off, 64); err != nil || !(distance <= 6) {
		t.Errorf("the colour at a number of the scale is %s away from that of such a weight, want at most 6", off)
	}
}

// A text whose losses are all 0 has bars without length.
func TestNoLoss(t *testing.T) {
	p := text(3, 1, 1)
	p.Sum = nil
	clear(p.Losses)
	if html := written(t, p); strings.Contains(html, "share:NaN") {
		t.Error("got a bar without a number")
	}
}
