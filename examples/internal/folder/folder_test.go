package folder

import (
	"strings"
	"sync"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
)

// together is the output of a program that waits until another one is as far.
type together struct{ *sync.WaitGroup }

func (t together) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "creating") {
		t.Done()
		t.Wait()
	}
	return len(p), nil
}

// Programs that are started for the first time at once use one folder.
func TestFirstStartsAtOnce(t *testing.T) {
	cache := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // by system
		t.Setenv(name, cache)
	}
	c := gpt.Stories15M()
	c.NLayer, c.NHead, c.NEmbd, c.NInner, c.BlockSize = 1, 1, 8, 16, 8
	const n = 3
	var created, ended sync.WaitGroup
	created.Add(n)
	for range n {
		ended.Go(func() {
			dir, err := Random("small", c, "", together{&created})
			if err == nil {
				_, _, err = published.Open(dir)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
}
