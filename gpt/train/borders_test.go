package train

import (
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/graph"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

// A file that cannot be written is an error.
func TestWriteFull(t *testing.T) {
	for _, err := range []error{WriteBytes([]byte("a"))(full{}), WriteJSON(1)(full{})} {
		if err == nil || !strings.Contains(err.Error(), "full") {
			t.Errorf("got %v", err)
		}
	}
}

// A build is read from the compiler's information; an empty version becomes "devel".
func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{
		Settings: []debug.BuildSetting{
			{Key: "-tags", Value: "nosimd"}, {Key: "CGO_ENABLED", Value: "1"}, {Key: "GOAMD64", Value: "v3"},
		},
	}
	for version, want := range map[string]string{"": "devel", "(devel)": "devel", "v0.1.2": "v0.1.2"} {
		info.Main.Version = version
		if got, want := buildOf(info), (Build{
			want, runtime.Version(), runtime.GOARCH, "v3", "nosimd", graph.Instructions(), arithmetic,
		}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
