package train

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Build says which program wrote a checkpoint. Equal bits are promised for equal builds.
type Build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	Arch    string `json:"arch"`    // such as amd64
	GoAMD64 string `json:"goamd64"` // the level of instructions that the compiler may use; empty elsewhere
	Tags    string `json:"tags"`
}

// ThisBuild describes the running program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Go: runtime.Version(), Arch: runtime.GOARCH}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOAMD64":
			b.GoAMD64 = s.Value
		case "-tags":
			b.Tags = s.Value
		}
	}
	return b
}

// String is one line such as "go1.26.8 amd64 v1".
func (b Build) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{b.Go, b.Arch, b.GoAMD64, b.Tags}, " ")), " ")
}
