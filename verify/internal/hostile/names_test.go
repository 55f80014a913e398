package hostile

import "reflect"

// The exported functions by their names, and the exported types except interfaces. A program cannot list what it does
// not mention, so TestMain writes another version of this file, with all of them, and runs the tests that contain it.
var (
	functions map[string]any
	types     []reflect.Type
)
