package page

import "io"

// Chat is a page for conversations with a model, by the requests of OpenAI's interface at the same address.
type Chat struct {
	Title  string // the name of the model
	Key    bool   // requests need a key
	Random bool   // the weights are random
}

// Write writes the page.
func (p Chat) Write(w io.Writer) error {
	return write(w, p.Title, "chat.html", p, "page.js", "markdown.js", "chat.js")
}
