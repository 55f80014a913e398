package gpt

import (
	"fmt"
	"os"
	"testing"
)

// programVariable makes the test binary run one of these programs, whose argument is a directory or other input.
const programVariable = "GPT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	program, argument := os.Getenv(programVariable), os.Getenv(programVariable+"_ARGUMENT")
	var err error
	switch program {
	case "":
		os.Exit(m.Run())
	case "train":
		err = trainAndSave(argument)
	case "hashes":
		err = printHashes(argument)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%+v\n", err)
		os.Exit(1)
	}
}
