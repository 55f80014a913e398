package main

import (
	"os"
	"strings"
	"testing"
)

const (
	root = "../../.."
	file = root + "/NOTICE"
)

// NOTICE is the output of the command: it becomes stale if a module is added or removed, or changes its version.
func TestNotice(t *testing.T) {
	var want strings.Builder
	if err := write(&want, root, false); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("NOTICE is stale: run go run ./verify/internal/notice > NOTICE")
	}
	if len(got) > 10<<10 {
		t.Errorf("NOTICE has %d bytes, want at most %d", len(got), 10<<10)
	}
	for _, words := range []string{"github.com/ajstarks/svgo", "CC BY 4.0", "SVGo by Anthony Starks", "FTL",
		"The FreeType Project", "gorgonia.org/gorgonia v0.9.18: Apache 2.0"} {
		if !strings.Contains(string(got), words) {
			t.Errorf("NOTICE does not contain %q", words)
		}
	}
}

// The texts of the licences follow the modules with their lines of copyright.
func TestTexts(t *testing.T) {
	var b strings.Builder
	if err := write(&b, root, true); err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"\tCopyright 2009 The Go Authors.", "SVGo by Anthony Starks",
		"Creative Commons Attribution 4.0 International Public License", "The FreeType Project LICENSE",
		"SIL OPEN FONT LICENSE", "gorgonia.org/gorgonia: LICENSE"} {
		if !strings.Contains(b.String(), words) {
			t.Errorf("the texts do not contain %q", words)
		}
	}
}

func TestDescribe(t *testing.T) {
	names, owners := describe([]licence{
		{
			"LICENSE",
			"  Copyright (c) 2019 A. Author\n\nPermission is hereby granted, free\nof charge, to any person " +
				"obtaining a copy of this software and associated documentation\n",
		},
		{
			"NOTICE",
			"Apache License\nCopyright [yyyy] [name of copyright owner]\n * Copyright 1999 Another *\ncopyright " +
				"notice 2.0\n",
		},
	})
	if got := strings.Join(names, "; "); got != "Apache 2.0; MIT" {
		t.Errorf("got licences %s, want Apache 2.0; MIT", got)
	}
	if got := strings.Join(owners, "; "); got != "Copyright (c) 2019 A. Author; Copyright 1999 Another" {
		t.Errorf("got owners %s, want those of both files", got)
	}
}
