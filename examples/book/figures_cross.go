package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/pedestrian-ml/pedestrian/verify/hand"
)

// reverser is a head of cross-attention that learns to write a text backwards. Its queries know only the place that is
// to be written; a token of the source is its letter and its place.
type reverser struct{ query, key, value values64 }

const (
	reverserLetters = 6
	reverserPlaces  = 5
)

// places returns the rows that tell the places apart.
func (reverser) places() values64 {
	x := hand.Zeros[float64](reverserPlaces, reverserPlaces)
	for i := range reverserPlaces {
		x.Data[i*reverserPlaces+i] = 1
	}
	return x
}

// source returns the rows of a text.
func (r reverser) source(text []int) values64 {
	x := hand.Zeros[float64](reverserPlaces, reverserLetters)
	for i, letter := range text {
		x.Data[i*reverserLetters+letter] = 1
	}
	return hand.Join(x, r.places())
}

// weights returns which letters of a text each place attends to.
func (r reverser) weights(text []int) values64 {
	return hand.Attention[float64]{}.Weights(r.places().MatMul(r.query), r.source(text).MatMul(r.key))
}

// learn takes a step of gradient descent on a text, with the formulas of the chapter.
func (r *reverser) learn(text []int, rate float64) {
	x, z, head := r.places(), r.source(text), hand.Attention[float64]{}
	q, k, v := x.MatMul(r.query), z.MatMul(r.key), z.MatMul(r.value)
	targets := make([]int, len(text))
	for i, letter := range text {
		targets[len(text)-1-i] = letter
	}
	one := hand.Zeros[float64](1, 1).Shift(rate)
	delta, _ := hand.CrossEntropy[float64]{Targets: targets}.Backward(head.Forward(q, k, v), one)
	dq, dk, dv := head.Backward(q, k, v, delta)
	r.query = r.query.Sub(x.Transpose().MatMul(dq))
	r.key = r.key.Sub(z.Transpose().MatMul(dk))
	r.value = r.value.Sub(z.Transpose().MatMul(dv))
}

// figureReverser shows the weights of cross-attention before and after it has learned to write backwards.
func figureReverser() (string, error) {
	const features, steps, rate = 8, 3000, 0.5
	random := rand.New(rand.NewPCG(16, 0))
	draw := func(rows, cols int) values64 {
		x := hand.Zeros[float64](rows, cols)
		for i := range x.Data {
			x.Data[i] = 0.5 * random.NormFloat64()
		}
		return x
	}
	width := reverserLetters + reverserPlaces
	r := reverser{draw(reverserPlaces, features), draw(width, features), draw(width, reverserLetters)}
	shown := []int{2, 0, 5, 5, 1}
	before := r.weights(shown)
	for range steps {
		text := make([]int, reverserPlaces)
		for i := range text {
			text[i] = random.IntN(reverserLetters)
		}
		r.learn(text, rate)
	}
	after := r.weights(shown)
	letters, names := []string{}, []string{}
	for i, letter := range shown {
		letters = append(letters, strings.Split("ABCDEF", "")[letter])
		names = append(names, fmt.Sprintf("write %d", i+1))
	}
	picture := heats(heat{"before", before, names, letters, 2}, heat{"after 3,000 texts", after, nil, letters, 2})
	return picture, after.Err
}
