// Package api holds the list of the names that the module exports, testdata/names.txt, and the tests that keep it.
//
// A line "gpt Decoder.Step" is a name that exists, and "- gpt Decoder.Window" one that existed and is gone. A name that
// disappears fails TestNames until the list has been written again, by
//
//	go test ./verify/internal/api -update
//
// and TestGoneNamesAreInTheChangelog until CHANGELOG.md mentions it.
package api
