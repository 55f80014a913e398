package hand_test

import (
	"testing"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
	"github.com/pedestrian-ml/pedestrian/verify/internal/fixture"
)

// A model without one of its parts is an error that names the place.
func TestMissingPartsOfModels(t *testing.T) {
	stack := hand.Stack[float64]{Tokens: hand.Embedding[float64]{Weight: fixture.Random("wte", 7, 7)}}
	holed := stack
	holed.Blocks = []layer{hand.ReLU[float64]{}, nil}
	is := func(s hand.Stack[float64]) func(matrix) hand.Stack[float64] {
		return func(matrix) hand.Stack[float64] { return s }
	}
	head, text := layer(hand.ReLU[float64]{}), hand.Text{Source: []int{0, 1}, Tokens: []int{1, 2}, Targets: []int{2, 3}}
	score := func(targets []int) layer { return hand.CrossEntropy[float64]{Targets: targets} }
	unscored := func([]int) layer { return nil }
	for _, c := range []struct {
		want string
		m    hand.Model[float64]
	}{
		{"lm_head: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Loss: score}},
		{"loss: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Head: head}},
		{"loss: hand: no layer, got nil", hand.Model[float64]{Decoder: is(stack), Head: head, Loss: unscored}},
		{"wte: hand: no Decoder, got nil", hand.Model[float64]{Head: head, Loss: score}},
		{"decoder.wte: hand: no Decoder, got nil", hand.Model[float64]{Encoder: &stack, Head: head, Loss: score}},
		{"h.1: hand: no layer, got nil", hand.Model[float64]{Decoder: is(holed), Head: head, Loss: score}},
		{"encoder.h.1: hand: no layer, got nil", hand.Model[float64]{Encoder: &holed, Decoder: is(stack), Head: head}},
	} {
		y := c.m.Forward(text)
		_, err := c.m.Backward(text)
		if y.Err == nil || y.Err.Error() != c.want || err == nil {
			t.Errorf("got %v and %v, want %s", y.Err, err, c.want)
		}
	}
}
