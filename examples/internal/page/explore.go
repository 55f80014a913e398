package page

import "io"

// Explore is a page on which a reader changes a model and sees what it then predicts. Its script asks the server that
// serves it: look, neurons and circuits.
type Explore struct {
	Title, About string
	Blocks       []string
	Heads        int
	Neurons      int // of an MLP
	Prompt       string
	First        Changed // after the prompt
}

// Changed holds the predictions of a model after a text, before and after a change.
type Changed struct {
	Tokens        []string
	Layers        []Layer // the attention of the changed model; nil if it has none to show
	Next          []Next  // by the probability in either model, the largest first
	Loss, Changed float64 // nats for each token of the text after the first; 0 for a single token
}

// Next is a token that may come next.
type Next struct {
	Token      string
	P, Changed float64 // the probabilities before and after the change
	Moved      float64 // what the change adds to the logit
}

// Neuron is a place in a text at which a neuron is large.
type Neuron struct {
	Value                float64
	Before, Token, After string
}

// Write writes the page.
func (p Explore) Write(w io.Writer) error {
	return write(w, p.Title, "explore.html", p, "page.js", "heat.js", "explore.js")
}
