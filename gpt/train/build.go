package train

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// arithmetic is the version of the order and the rounding of all operations. It changes when the bits of a training do.
const arithmetic = 1

// Build describes the program that wrote a checkpoint.
type Build struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	Arch    string `json:"arch"`    // such as amd64
	GoAMD64 string `json:"goamd64"` // level of instructions that the compiler may use; empty on other architectures
	Tags    string `json:"tags"`
	// Instructions is the result of graph.Instructions. It is empty in older checkpoints.
	Instructions string `json:"instructions,omitempty"`
	// Arithmetic is the version of the order and the rounding of all operations. It is 0 in checkpoints of programs
	// whose bits depended on the processor.
	Arithmetic int `json:"arithmetic,omitempty"`
}

// ThisBuild describes the running program.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return buildOf(info)
}

// BuildOf returns the Build of the program that wrote a checkpoint.
func BuildOf(cp *checkpoint.Checkpoint) (Build, error) {
	var s struct {
		Build Build `json:"build"`
	}
	err := PeekJSON(cp, StateFile, &s)
	return s.Build, err
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Go: runtime.Version(), Arch: runtime.GOARCH, Instructions: graph.Instructions(),
		Arithmetic: arithmetic}
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

// String returns one line such as "go1.26.8 amd64 v1".
func (b Build) String() string {
	all := strings.Join([]string{b.Go, b.Arch, b.GoAMD64, b.Tags, b.Instructions}, " ")
	return strings.Join(strings.Fields(all), " ")
}

// SameBits reports whether a run that b began continues in other with the same bits as in b. This requires the same
// arithmetic, of which every processor computes the same bits, and the same release of Go. Without a version of the
// arithmetic it requires the same compiler and settings, and vector instructions in both, of any kind, or in neither.
func (b Build) SameBits(other Build) bool {
	if b.Instructions == "" || other.Instructions == "" {
		b.Instructions, other.Instructions = "", ""
	}
	return b.class() == other.class()
}

// class returns the part of b that determines the bits. The tags of MPI do not, because the package computes the sums
// itself.
func (b Build) class() Build {
	if b.Arithmetic > 0 {
		release := strings.SplitN(b.Go, ".", 3) // such as go1, 26 and 8
		return Build{Go: strings.Join(release[:min(2, len(release))], "."), Arithmetic: b.Arithmetic}
	}
	b.Tags = strings.Join(slices.DeleteFunc(strings.Split(b.Tags, ","), func(tag string) bool {
		return tag == "mpi" || tag == "mpicc"
	}), ",")
	if b.Version = ""; b.Instructions == "AVX2" {
		b.Instructions = "AVX512"
	}
	return b
}
