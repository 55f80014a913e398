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
	if err := write(&want, root); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The licence of Go is that of the toolchain, which may differ.
	if cut(string(got)) != cut(want.String()) {
		t.Errorf("NOTICE is stale: run go run ./verify/internal/notice > NOTICE")
	}
	for _, words := range []string{
		"github.com/ajstarks/svgo", "CC BY 4.0", "SVGo by Anthony Starks", "FTL", "The FreeType Project",
		"gorgonia.org/gorgonia v0.9.18",
		"Creative Commons Attribution 4.0 International Public License", "The FreeType Project LICENSE",
		"SIL OPEN FONT LICENSE",
	} {
		if !strings.Contains(string(got), words) {
			t.Errorf("NOTICE does not contain %q", words)
		}
	}
}

// cut returns the notice without the text of Go's own licence.
func cut(notice string) string {
	before, rest, _ := strings.Cut(notice, "Go's standard library: LICENSE")
	_, after, _ := strings.Cut(rest, "\n"+strings.Repeat("=", 100)+"\ncodeberg.org")
	return before + after
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
