// Package api holds the list of the names that the module exports, testdata/names.txt, and the tests of that list.
//
// A line "gpt Decoder.Step" is a name that exists, and "- gpt Decoder.Window" is a name that was removed. If a name
// disappears, TestNames fails until the list is written again by
//
//	go test ./verify/internal/api -update
//
// and TestGoneNamesAreInTheChangelog fails until CHANGELOG.md mentions it.
package api
