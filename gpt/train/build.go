package train

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// Build says which program wrote a checkpoint. Equal bits are promised for equal builds.
type Build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	Arch    string `json:"arch"`    // such as amd64
	GoAMD64 string `json:"goamd64"` // the level of instructions that the compiler may use; empty elsewhere
	Tags    string `json:"tags"`
	// What graph.Instructions says; empty in a checkpoint of before it was written down.
	Instructions string `json:"instructions,omitempty"`
}

// ThisBuild describes the running program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info)
}

// BuildOf returns the program that wrote a checkpoint.
func BuildOf(cp *checkpoint.Checkpoint) (Build, error) {
	var s struct {
		Build Build `json:"build"`
	}
	err := PeekJSON(cp, StateFile, &s)
	return s.Build, err
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Go: runtime.Version(), Arch: runtime.GOARCH, Instructions: graph.Instructions()}
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
	return strings.Join(strings.Fields(strings.Join([]string{b.Go, b.Arch, b.GoAMD64, b.Tags, b.Instructions}, " ")), " ")
}

// SameBits reports whether a run that b began goes on in other with the bits that b would have computed: the compiler
// and its settings are the same, and both have vector instructions, whichever, or neither has.
func (b Build) SameBits(other Build) bool {
	if b.Instructions == "" || other.Instructions == "" {
		b.Instructions, other.Instructions = "", ""
	}
	return b.class() == other.class()
}

// class is what the bits depend on: not on the tags of MPI, for the sums are ours.
func (b Build) class() Build {
	b.Tags = strings.Join(slices.DeleteFunc(strings.Split(b.Tags, ","), func(tag string) bool {
		return tag == "mpi" || tag == "mpicc"
	}), ",")
	if b.Version = ""; b.Instructions == "AVX2" {
		b.Instructions = "AVX512"
	}
	return b
}
