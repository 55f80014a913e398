// Package session trains small models for the page that trains: it answers messages in JSON, of which a page sends one
// at a time. It reads and writes no files, so that it also runs in a browser. Start with Session.Handle.
package session

import (
	"encoding/json"

	"github.com/pkg/errors"
)

// lanes is the number of runs that race.
const lanes = 2

// Session holds the runs of one page. The zero value has none. A Session is for one goroutine.
type Session struct{ runs [lanes]*run }

// Request is a message of the page. Do decides which of the other fields count.
type Request struct {
	Do     string `json:"do"`     // choices, start, step, look, gradient or hash
	Lane   int    `json:"lane"`   // which of the runs, 0 or 1
	Choice Choice `json:"choice"` // start: what to train
	Steps  int    `json:"steps"`  // step: how many
	Name   string `json:"name"`   // gradient: the parameter, and the entry of its matrix
	Row    int    `json:"row"`
	Col    int    `json:"col"`
}

// mostSteps is the largest number of steps that one message asks for.
const mostSteps = 10_000

// Handle answers a Request in JSON. An error is an answer, too: {"error": "…"}.
func (s *Session) Handle(request []byte) []byte {
	var r Request
	var answer any
	err := json.Unmarshal(request, &r)
	if err == nil {
		answer, err = s.answer(r)
	}
	if err == nil {
		var data []byte
		if data, err = json.Marshal(answer); err == nil {
			return data
		}
	}
	data, _ := json.Marshal(map[string]string{"error": err.Error()}) // a map of strings has a JSON
	return data
}

// answer returns what JSON is made of. A panic becomes an error.
func (s *Session) answer(r Request) (answer any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Errorf("%s: a panic: %v", r.Do, p)
		}
	}()
	if r.Lane < 0 || r.Lane >= lanes {
		return nil, errors.Errorf("lane: got %d, want 0 to %d", r.Lane, lanes-1)
	}
	switch r.Do {
	case "choices":
		return choices(), nil
	case "start":
		run, err := start(r.Choice)
		if err != nil {
			return nil, err
		}
		s.runs[r.Lane] = run
		return run.started(), nil
	}
	run := s.runs[r.Lane]
	if run == nil {
		return nil, errors.Errorf("lane %d: nothing is trained, want start first", r.Lane)
	}
	switch r.Do {
	case "step":
		if r.Steps < 1 || r.Steps > mostSteps {
			return nil, errors.Errorf("steps: got %d, want 1 to %d", r.Steps, mostSteps)
		}
		return run.steps(r.Steps)
	case "look":
		return run.look()
	case "gradient":
		return run.gradient(r.Name, r.Row, r.Col)
	case "hash":
		return map[string]any{"step": run.Done, "hash": run.hash()}, nil
	}
	return nil, errors.Errorf("do: got %.40q, want choices, start, step, look, gradient or hash", r.Do)
}
