// Chat talks with a model: in the terminal, or by OpenAI's interface and a page.
//
//	go run ./examples/chat                            # a small model with random weights, which answers at random
//	go run ./examples/chat -model DIR                 # a folder of Hugging Face's, or the directory of a run
//	go run ./examples/chat -model FILE.gguf           # decodes from the file where it is
//	go run ./examples/chat -model DIR -adapter D      # with adapters in PEFT's form
//	go run ./examples/chat -model DIR -serve :8080    # http://127.0.0.1:8080/v1 and a page
//
// In the terminal Ctrl-C ends the answer that is being written, and a second one at the prompt ends the program; /help
// lists the commands. Lines are edited with the keys of a shell, and the arrows bring back earlier ones. Lines of a
// pipe are messages, too.
//
// The server answers POST /v1/chat/completions, /v1/completions and /v1/responses, also as a stream, POST
// /v1/embeddings and GET /v1/models. It accepts temperature, top_p, top_k, min_p, seed, n, stop, max_tokens, logprobs,
// logit_bias, echo, and the penalties of frequency, presence and repetition, whose defaults are the flags. Every other
// key that would change an answer is refused by name; what is ignored, such as reasoning_effort, is logged. Special
// tokens are never text of an answer.
//
// response_format makes an answer an object of JSON, or a value of a JSON Schema (package gpt/grammar): it is complete
// unless the tokens do not suffice for the shortest one. tools are those that the model's template writes, with calls
// as Hermes, Mistral or Llama 3 write them; tool_choice may require one, whose arguments then follow their schema.
// -pooling chooses how hidden values become an embedding.
//
// GET /health says whether the server takes requests, and /metrics counts them in Prometheus' form; -log logs each.
// -cors lets the pages of an origin use the server, and -alias names the model.
//
// Conversations share batches: they join and leave at any token (package gpt/decode). A prompt that begins like an
// earlier one starts from its keys and values; cache_salt, a secret of the client as in vLLM, and -isolate keep clients
// apart. Requests are bounded in number and in memory before they are read.
package main

import (
	"context"
	"io"
	"os"

	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
)

func main() {
	program.MainOfTerminal("chat", func(interrupts <-chan os.Signal) program.Run {
		return inputs{os.Stdin, interrupts}.run
	})
}

// inputs holds the inputs of the program.
type inputs struct {
	stdin      io.Reader
	interrupts <-chan os.Signal
}

func (in inputs) run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	e, err := o.open(stderr)
	if err != nil {
		return err
	}
	if o.serve == "" {
		if err := e.chats(ctx); err != nil {
			return err
		}
		defer e.start()()
		return newTerminal(o, e, in, stdout).talk(ctx)
	}
	return serveUntil(program.Interruptible(ctx, in.interrupts), o, e, stdout, stderr)
}
