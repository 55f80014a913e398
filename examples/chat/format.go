package main

import (
	"encoding/json"

	"github.com/pedestrian-ml/pedestrian/gpt/grammar"
	"github.com/pedestrian-ml/pedestrian/gpt/search"
)

// formatted returns the grammar of a response_format: none for text.
func formatted(raw json.RawMessage) (*grammar.Grammar, error) {
	var format struct {
		Type   string `json:"type"`
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if len(raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &format); err != nil {
		return nil, invalid("response_format", "got %s, want an object", clipped(raw))
	}
	switch format.Type {
	case "text":
		return nil, nil
	case "json_object":
		return grammar.JSON(), nil
	case "json_schema":
		return schemed("response_format", format.Schema.Schema)
	}
	return nil, invalid("response_format", "got the type %.32q, want text, json_object or json_schema", format.Type)
}

// schemed returns the grammar of the schema of a key.
func schemed(key string, schema json.RawMessage) (*grammar.Grammar, error) {
	if len(schema) == 0 {
		return nil, invalid(key, "got no schema, want one")
	}
	g, err := grammar.Schema(schema)
	if err != nil {
		return nil, invalid(key, "%v", err)
	}
	return g, nil
}

// texts returns the vocabulary of grammars, with calls of tools in a style: the texts of tokens that neither are
// special nor end an answer.
func (e *engine) texts(s style) *grammar.Vocabulary {
	texts, tok := make([]string, e.tok.Size()), e.speaks(s)
	for id := range texts {
		texts[id], _ = tok.Decode([]int{id})
	}
	for _, id := range e.ends {
		texts[id] = ""
	}
	return grammar.NewVocabulary(texts)
}

// choice returns the question for the i-th answer of a request. Each answer has a seed of its own. The first answer has
// the seed that a request for one answer has.
func (e *engine) choice(q question, i int) (question, error) {
	s := q.sampling
	if s.seed != 0 {
		s.seed = max(1, s.seed+uint64(i)*0x9e3779b97f4a7c15)
	}
	q.sampler = s.sampler()
	if len(q.bias) > 0 {
		q.sampler.Rules = append(q.sampler.Rules, search.Bias(q.bias))
	}
	if q.grammar == nil {
		return q, nil
	}
	vocabulary := e.vocabulary
	if q.style != nil {
		vocabulary = e.marked
	}
	var err error
	q.matcher, err = q.grammar.Matcher(vocabulary(), e.room(q), e.ends...)
	if err != nil {
		return q, invalid(q.grammarKey, "%v", err)
	}
	q.sampler.Rules = append(q.sampler.Rules, q.matcher)
	return q, nil
}

// room returns the number of tokens that an answer can have.
func (e *engine) room(q question) int { return min(q.tokens, e.context-len(q.prompt)+1) }
