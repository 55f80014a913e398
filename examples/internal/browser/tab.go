package browser

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// Visit opens an address and waits until the page is loaded.
func (b *Tab) Visit(url string) {
	b.t.Helper()
	b.loaded = false
	b.Call("Page.navigate", map[string]any{"url": url}, nil)
	for !b.loaded {
		b.next(url)
	}
}

// Ask returns the value of a JavaScript expression in the page, as text.
func (b *Tab) Ask(expression string) string {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value string }
		ExceptionDetails any
	}
	b.Call("Runtime.evaluate",
		map[string]any{"expression": "String(" + expression + ")", "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %v", expression, answer.ExceptionDetails)
	}
	return answer.Result.Value
}

// Wait evaluates the expression until its value contains want, for at most ten seconds.
func (b *Tab) Wait(expression, want string) {
	b.t.Helper()
	got := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = b.Ask(expression); strings.Contains(got, want) {
			return
		}
	}
	b.t.Fatalf("%s: got %q, want %q in it", expression, got, want)
}

// Press presses keys, given by names such as Tab and ArrowDown.
func (b *Tab) Press(keys ...string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
		"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
	for _, key := range keys {
		if codes[key] == 0 {
			b.t.Fatalf("no key %q", key)
		}
		for _, kind := range []string{"rawKeyDown", "keyUp"} {
			b.Call("Input.dispatchKeyEvent",
				map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": codes[key]}, nil)
		}
	}
}

// Show sets the size of the window and the preferred colour scheme.
func (b *Tab) Show(width, height int, scheme string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.Call("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Named returns the role and the accessible name of each element that can have the focus.
func (b *Tab) Named() (list []string) {
	b.t.Helper()
	type value struct{ Value any }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
			Properties []struct {
				Name  string
				Value value
			}
		}
	}
	b.Call("Accessibility.getFullAXTree", nil, &tree)
	for _, n := range tree.Nodes {
		for _, p := range n.Properties {
			if p.Name == "focusable" && p.Value.Value == true && !n.Ignored {
				list = append(list, fmt.Sprint(n.Role.Value, " ", n.Name.Value))
			}
		}
	}
	return list
}

//go:embed faults.js
var faults string

// Faults returns the faults in the layout of the page, one per line: texts that are cut off or overlap, boxes that
// hide something without a sign, a page wider than the window, and zeros with a sign. It tries again for two seconds,
// in which the page may be laid out.
func (b *Tab) Faults() string {
	b.t.Helper()
	found := b.Ask(faults)
	for end := time.Now().Add(2 * time.Second); found != "" && time.Now().Before(end); found = b.Ask(faults) {
		time.Sleep(50 * time.Millisecond) // Wait for the layout
	}
	return found
}

// Picture writes a picture of the page, from its top to its bottom, into a file.
func (b *Tab) Picture(path string) {
	b.t.Helper()
	var picture struct{ Data []byte }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &picture)
	must(b.t, file.Replace(path, func(w io.Writer) error {
		_, err := w.Write(picture.Data)
		return err
	}))
}

//go:embed contrast.js
var contrast string

// Contrast returns the texts whose contrast with their background is below 4.5, one per line.
func (b *Tab) Contrast() string {
	b.t.Helper()
	return b.Ask(contrast)
}
