package gpt

import (
	"slices"
	"testing"

	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// A repetition penalty counts every token of the text: those of the prompt that have left the context, those fed by
// hand and those of earlier turns, but none of an earlier text.
func TestDecoderPenalisesTheCompleteText(t *testing.T) {
	for _, m := range []*Model{model64(t, odd(), true, 1), model64(t, ours(), true, 1)} { // cached, and rerun
		penal := func() *search.Sampler {
			s := search.NewSampler(4)
			s.RepetitionPenalty = 3
			return s
		}
		d, byHand := newDecoderOf(t, m), newDecoderOf(t, m)
		continued := func(prompt, text []int, n int, s *search.Sampler) (ids []int) { // text is prompt, and what is before it
			next := prompt
			for range n {
				z, err := byHand.Feed(next)
				if err != nil {
					t.Fatal(err)
				}
				id, err := s.Draw(z, text...)
				if err != nil {
					t.Fatal(err)
				}
				ids, text, next = append(ids, id), append(text, id), []int{id}
			}
			return ids
		}
		long := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2} // 11 of a context of 7
		feed(t, d, 11, 12)
		s, same := penal(), penal()
		got, want := drawn(t, generate(t.Context(), d, long, 20, s)), continued(long, long, 20, same)
		if !slices.Equal(got, want) {
			t.Errorf("a prompt of 11: wrote %v, want %v", got, want)
		}
		if again := drawn(t, proceed(t.Context(), d, []int{0}, 9, s)); !slices.Equal(again,
			continued([]int{want[19], 0}, slices.Concat(long, want, []int{0}), 9, same)) {
			t.Errorf("the next turn: wrote %v", again)
		}

		if err := d.Reset(); err != nil {
			t.Fatal(err)
		}
		if err := byHand.Reset(); err != nil {
			t.Fatal(err)
		}
		feed(t, d, 3, 4)
		feed(t, byHand, 3, 4)
		got, want = drawn(t, proceed(t.Context(), d, []int{5}, 9, penal())), continued([]int{5}, []int{3, 4, 5}, 9, penal())
		if !slices.Equal(got, want) {
			t.Errorf("behind what was fed: wrote %v, want %v", got, want)
		}
		plain := drawn(t, generate(t.Context(), d, []int{3, 4, 5}, 20, search.NewSampler(4)))
		if slices.Equal(plain, drawn(t, generate(t.Context(), d, []int{3, 4, 5}, 20, penal()))) {
			t.Error("the penalty changes nothing: the test shows little")
		}
	}
}
