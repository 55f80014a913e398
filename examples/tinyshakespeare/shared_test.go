package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/dist"
)

// A rank that does not see rank 0's file is refused, and the file is removed.
func TestShared(t *testing.T) {
	here, elsewhere := t.TempDir(), t.TempDir()
	for _, paths := range [][]string{{here, here}, {here, elsewhere}} {
		err := dist.Run(t.Context(), 2, func(g dist.Group) error {
			if g.Rank() > 0 {
				if err := g.Share(make([]float32, 1), 0); err != nil { // what rank 0 tells
					return err
				}
			}
			return shared(g, paths[g.Rank()])
		})
		if paths[1] == here {
			if left, _ := os.ReadDir(here); err != nil || len(left) > 0 {
				t.Errorf("got %v, left %v", err, left)
			}
		} else if err == nil || !strings.Contains(err.Error(), "rank 1: out_dir: "+elsewhere+" differs from rank 0's") {
			t.Errorf("got error %v", err)
		}
	}
}

// ranksVariable is a directory in which the ranks of MPI that are this binary write their process numbers.
const ranksVariable = "TINYSHAKESPEARE_RANKS"

func writeRank() {
	if dir := os.Getenv(ranksVariable); dir != "" {
		rank := os.Getenv("OMPI_COMM_WORLD_RANK") + os.Getenv("PMI_RANK")
		os.WriteFile(filepath.Join(dir, rank), []byte(strconv.Itoa(os.Getpid())), 0o600)
	}
}
