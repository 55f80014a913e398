//go:build js

// Marker marks the exercises of the book in a browser. It defines the function markExercise of an exercise and an
// answer, which returns a notation.Verdict as JSON.
package main

import (
	"encoding/json"
	"syscall/js"

	"github.com/pedestrian-ml/pedestrian/verify/notation"
)

func main() {
	js.Global().Set("markExercise", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var v notation.Verdict
		if len(args) != 2 {
			v.Message = "markExercise: want an exercise and an answer."
		} else if e, err := notation.ParseExercise(args[0].String()); err != nil {
			v.Message = err.Error()
		} else {
			v = e.Mark(args[1].String())
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err.Error()
		}
		return string(data)
	}))
	select {}
}
