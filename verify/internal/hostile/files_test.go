package hostile

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/seq2seq"
)

// checkpoints returns a directory with a checkpoint of each kind of model.
func checkpoints(t *testing.T, s *source) string {
	dir, w := t.TempDir(), s.world()
	for name, files := range map[string]func() ([]checkpoint.File, error){
		"gpt": get[*gpt.Trainer](w).Files,
		"seq": func() ([]checkpoint.File, error) {
			v := get[*seq2seq.Vocabulary](w)
			return get[*seq2seq.Trainer](w).Files(v, v)
		},
	} {
		d := must(checkpoint.Open(dir + "/" + name))
		if err := d.Save(1, must(files())); err != nil {
			t.Fatal(name, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
