package certificate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pedestrian-ml/pedestrian/internal/file"
)

// maxBuilds is the largest number of builds in a certificate.
const maxBuilds = 3

// module is the path of this library.
const module = "github.com/pedestrian-ml/pedestrian"

// Build describes a program that computed the steps of a run.
type Build struct {
	From int `json:"from"` // the number of steps done before its first one
	// Module is the version of this library in a program that requires it, with its hash, or else "devel".
	Module string `json:"module"`
	// Commit names the program's sources, with "+changes" if they were changed since. It is empty if the compiler did
	// not know it: go run knows it only with -buildvcs=true.
	Commit  string `json:"commit"`
	Program string `json:"program"` // the SHA-256 of the program, unless the commit determines its sources
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	GoAMD64 string `json:"goamd64"` // level of instructions that the compiler may use; empty on other architectures
	Tags    string `json:"tags"`
	Kernels string `json:"kernels"` // of graph.Instructions, such as AVX512
}

// ThisBuild describes the running program.
func ThisBuild() Build { return thisBuild() }

var thisBuild = sync.OnceValue(func() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	b := buildOf(info)
	source, _ := Source() // a program that cannot be read has no hash
	if sum, ok := strings.CutPrefix(source, "sha256:"); ok {
		b.Program = sum
	}
	return b
})

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Module: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Kernels: graph.Instructions()}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" && m.Replace == nil {
			b.Module = strings.TrimSpace(m.Version + " " + m.Sum)
		}
	}
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "GOAMD64":
			b.GoAMD64 = s.Value
		case "-tags":
			b.Tags = s.Value
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			if s.Value != "false" {
				changed = "+changes"
			}
		}
	}
	if b.Commit != "" {
		b.Commit += changed
	}
	return b
}

// Diff lists what differs between two builds, other than the program as a whole: each with both values.
func (b Build) Diff(other Build) (list []string) {
	for _, f := range []struct{ name, got, want string }{
		{"module", b.Module, other.Module}, {"commit", b.Commit, other.Commit}, {"go", b.Go, other.Go},
		{"os", b.OS, other.OS}, {"arch", b.Arch, other.Arch}, {"goamd64", b.GoAMD64, other.GoAMD64},
		{"tags", b.Tags, other.Tags}, {"kernels", b.Kernels, other.Kernels},
	} {
		if f.got != f.want {
			list = append(list, fmt.Sprintf("%s: %s here, %s there", f.name, orNone(f.got), orNone(f.want)))
		}
	}
	return list
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return fmt.Sprintf("%.80q", s)
}

// SameSource reports whether two builds have the same commit and the same version of the library, as far as both are
// known.
func (b Build) SameSource(other Build) bool {
	commit := b.Commit == "" || other.Commit == "" || b.Commit == other.Commit
	return commit && (b.Module == other.Module || b.Module == "devel" || other.Module == "devel")
}

// Source names the sources of the running program: the commit from which it was built, if nothing was changed since,
// after the path of the program and "@", and otherwise the SHA-256 of the program itself, which contains all of its
// code, after "sha256:".
func Source() (string, error) { return source() }

var source = sync.OnceValues(func() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := committed(info); v != "" {
			return v, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := file.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), err
})

// committed returns the commit and the program's name if they determine all code: nothing is changed since the commit,
// and no module is replaced by a folder. Otherwise it returns "".
func committed(info *debug.BuildInfo) (v string) {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	for _, m := range info.Deps {
		if m.Replace != nil && m.Replace.Version == "" {
			return ""
		}
	}
	if settings["vcs.revision"] == "" || settings["vcs.modified"] != "false" {
		return ""
	}
	return info.Path + "@" + settings["vcs.revision"]
}
