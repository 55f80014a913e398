package main

import (
	"fmt"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// figureInduction shows the weights of two heads that are built to continue a text that repeats itself.
func figureInduction() (string, error) {
	const n, kinds, sharp = 6, 3, 8.
	tokens := strings.Split("ABCABC", "")
	x, places := hand.Zeros[float64](n, kinds), hand.Zeros[float64](n, n)
	for i := range n {
		x.Data[i*kinds+i%kinds], places.Data[i*n+i] = 1, 1
	}
	head := hand.Attention[float64]{Mask: hand.CausalMask(n)}
	before := hand.JoinTokens(places.Tokens(0, 1), places.Tokens(0, n-1)) // each token asks for the place before
	first := head.Weights(before.Scale(sharp), places.Scale(sharp))
	notes := first.MatMul(x)
	notes = hand.JoinTokens(hand.Zeros[float64](1, kinds), notes.Tokens(1, n)) // nothing stands before the first token
	second := head.Weights(x.Scale(sharp), notes.Scale(sharp))
	var names []string
	for i, t := range tokens {
		names = append(names, fmt.Sprintf("%d %s", i+1, t))
	}
	picture := heats(heat{"the token before", first, names, tokens, 2}, heat{"induction", second, nil, tokens, 2})
	return picture, second.Err
}
