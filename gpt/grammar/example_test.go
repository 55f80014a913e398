package grammar_test

import (
	"errors"
	"fmt"

	"github.com/pedestrian-ml/pedestrian/gpt/grammar"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
	"github.com/pedestrian-ml/pedestrian/graph"
)

// A sampler that would rather write x writes a value of a schema.
func ExampleSchema() {
	texts := []string{"x", "{", "}", `"`, ":", ",", "a", "\"a\": ", "true", "false", "t", "r", "u", "e", "f", "l",
		"s", "n"}
	g, err := grammar.Schema([]byte(`{"type":"object","properties":{"a":{"type":"boolean"}},"required":["a"]}`))
	if err != nil {
		panic(err)
	}
	m, err := g.Matcher(grammar.NewVocabulary(texts), 20)
	if err != nil {
		panic(err)
	}
	s := search.NewSampler(1)
	s.Temperature, s.Rules = 0, []search.Rule{search.Bias{0: 5, 7: 1, 9: 2}, m}
	text := ""
	for {
		id, err := s.Draw(graph.Tensor{Shape: []int{len(texts)}, F64: make([]float64, len(texts))})
		if errors.Is(err, search.ErrEnd) {
			break
		}
		if err != nil {
			panic(err)
		}
		text += texts[id]
	}
	fmt.Println(text, m.Complete())
	// Output: {"a": false} true
}

// A grammar between two texts, such as the marks of a call.
func ExampleGrammar_Between() {
	g, err := grammar.JSON().Between("<call>", "</call>")
	if err != nil {
		panic(err)
	}
	_, err = g.Matcher(grammar.NewVocabulary([]string{"<call>", "{", "}", "</call>"}), 4)
	fmt.Println(err)
	// Output: grammar: the vocabulary has no token for '"'
}
