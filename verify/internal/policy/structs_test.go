package policy

import (
	"reflect"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/parts"
	"github.com/pedestrian-ml/pedestrian/nn"
	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// TestKindsAddNoFields checks that the structs that every model shares stay small: a new kind of part is a row of
// parts.Kinds or a link, and adds no field to them.
func TestKindsAddNoFields(t *testing.T) {
	for _, s := range []struct {
		of   reflect.Type
		most int
	}{
		{reflect.TypeFor[parts.Stack](), 20},
		{reflect.TypeFor[hand.SelfAttention[float64]](), 5},
		{reflect.TypeFor[nn.Site](), 10},
	} {
		if n := s.of.NumField(); n > s.most {
			t.Errorf("%v: got %d fields, want at most %d", s.of, n, s.most)
		}
	}
}
