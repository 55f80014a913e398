//go:build js

// Wasm passes messages between a Web Worker and a session: the worker calls the function handle, which this program
// sets, with a request in JSON, and gets the answer in JSON. The package trainer builds it.
package main

import (
	"syscall/js"

	"github.com/pedestrian-ml/pedestrian/examples/book/trainer/internal/session"
)

func main() {
	var s session.Session
	js.Global().Set("handle", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		if len(arguments) != 1 {
			return `{"error": "handle: want one argument, a request in JSON"}`
		}
		return string(s.Handle([]byte(arguments[0].String())))
	}))
	select {} // the worker calls handle until it ends
}
