package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pedestrian-ml/pedestrian/examples/internal/folder"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/checkpoint"
	"github.com/pedestrian-ml/pedestrian/gpt/grammar"
	"github.com/pedestrian-ml/pedestrian/gpt/peft"
	"github.com/pedestrian-ml/pedestrian/gpt/published"
	"github.com/pedestrian-ml/pedestrian/gpt/service"
	"github.com/pedestrian-ml/pedestrian/gpt/text"
	"github.com/pedestrian-ml/pedestrian/gpt/text/chat"
	"github.com/pkg/errors"
)

// engine answers prompts with one model.
type engine struct {
	names      []string // more than one by -alias; name is the first
	name       string
	random     bool // the weights are
	tok        text.Tokenizer
	template   chat.Template
	chat       func() (*chat.Writer, error) // the template, parsed at its first use
	ends       []int                        // tokens that end an answer
	special    map[int]bool                 // tokens without a text
	context    int
	service    *service.Service
	embedder   func() (*embedder, error)  // made at its first use
	scorer     func() (*scorer, error)    // likewise
	vocabulary func() *grammar.Vocabulary // likewise
	marked     func() *grammar.Vocabulary // likewise, with the marks of calls
	calls      func() (style, error)      // likewise
}

// mostContext is the context of a model with a longer one, unless -block_size says otherwise: the keys and values of
// long contexts need much memory.
const mostContext = 4096

// open opens the model of the flags.
func (o options) open(stderr io.Writer) (e *engine, err error) {
	e = &engine{name: strings.TrimSuffix(filepath.Base(o.model), ".gguf")}
	if o.model == "" {
		if o.model, err = random(stderr); err != nil {
			return nil, err
		}
		if o.template == "" {
			o.template = "chatml"
		}
		e.name, e.random = filepath.Base(o.model), true
	}
	e.names = []string{e.name}
	if o.alias != "" {
		e.names = strings.Split(o.alias, ",")
		e.name = e.names[0]
	}
	cp, err := folder.Kind("").Load(o.model, stderr)
	if err != nil {
		return nil, err
	}
	defer cp.Close()
	if e.context, err = o.contextOf(cp); err != nil {
		return nil, err
	}
	m, tok, err := published.OpenCropped(o.model, e.context)
	if err != nil {
		return nil, err
	}
	e.tok, e.special = tok, specials(tok)
	if e.template, err = folder.Template(cp, o.template); err != nil {
		return nil, err
	}
	e.chat = sync.OnceValues(func() (*chat.Writer, error) { return chat.NewWriter(e.template, e.tok) })
	if e.ends, err = folder.Ends(cp, tok); err != nil {
		return nil, err
	}
	if m, err = o.changed(m); err != nil {
		return nil, err
	}
	lanes, queue := o.lanes, o.queue
	if o.serve == "" { // one conversation
		lanes, queue = 1, 0
	}
	network, err := m.Network(lanes)
	if err != nil {
		return nil, err
	}
	e.vocabulary = sync.OnceValue(func() *grammar.Vocabulary { return e.texts(nil) })
	e.calls = sync.OnceValues(e.offers)
	e.marked = sync.OnceValue(func() *grammar.Vocabulary {
		s, _ := e.calls() // known before a question has a style
		return e.texts(s)
	})
	e.embedder = sync.OnceValues(func() (*embedder, error) { return newEmbedder(network, poolings()[o.pooling]) })
	e.scorer = sync.OnceValues(func() (*scorer, error) { return newScorer(network) })
	e.service, err = service.New(network, lanes, queue)
	return e, err
}

// random returns the folder of a small model with random weights.
func random(stderr io.Writer) (string, error) {
	c := gpt.Stories15M()
	c.NLayer, c.NHead, c.NEmbd, c.NInner, c.BlockSize = 2, 2, 64, 172, 1024
	return folder.Random("random-chat", c, "out/chat", stderr, "<|endoftext|>", "<|im_start|>", "<|im_end|>")
}

// contextOf returns -block_size, or else the context of a model, at most mostContext.
func (o options) contextOf(cp *checkpoint.Checkpoint) (int, error) {
	if o.blockSize > 0 {
		return o.blockSize, nil
	}
	s, err := published.SourceOf(cp)
	return min(s.Config.BlockSize, mostContext), err
}

// changed returns the model with the adapter and in the bits of the flags.
func (o options) changed(m *gpt.Model) (*gpt.Model, error) {
	if o.adapter != "" {
		a, err := peft.Open(o.adapter)
		if err != nil {
			return nil, err
		}
		if a.Replaces() {
			err = peft.Merge(m, a)
		} else if m, err = peft.Adapted(m, 1, a); err == nil {
			err = m.Use(a)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.weights == "" {
		return m, nil
	}
	return m.Packed(o.weights)
}

// start runs the service until the returned function is called, which waits for its end.
func (e *engine) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.service.Run(ctx) // its error is the end of ctx
	}()
	return func() {
		cancel()
		<-done
	}
}

// chats returns an error if conversations cannot be written for the model.
func (e *engine) chats(ctx context.Context) error {
	c, err := e.chat()
	if err == nil {
		_, _, err = c.Tokens(ctx, chat.Message{Role: "user", Content: "a"})
	}
	return errors.WithMessage(err, "the model says in no known way how conversations are written "+
		"(-template chatml or -template FILE may)")
}
