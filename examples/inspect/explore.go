package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/pedestrian-ml/pedestrian/examples/internal/page"
	"github.com/pedestrian-ml/pedestrian/examples/internal/program"
	"github.com/pedestrian-ml/pedestrian/examples/internal/serve"
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/gpt/inspect"
	"github.com/pkg/errors"
)

// exploring is the command explore with its flags: a page on which a reader changes the model.
type exploring struct {
	subject
	address string

	mutex sync.Mutex // the model computes one answer at a time
	ids   []int      // of the text for neurons
	found map[int][][]peak
}

// runExplore is the command explore.
func runExplore(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o := exploring{found: map[int][][]peak{}}
	fs := o.flags("explore", stderr)
	fs.Group("text", "the text", func(fs *flag.FlagSet) {
		o.promptFlag(fs)
		fs.StringVar(&o.address, "serve", ":8080", "address of the page: a port such as :8080, or a host and a port")
	})
	o.dataFlags(fs, "validation")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := program.Want(o.tokens > 0, "-data_tokens", o.tokens, "at least 1"); err != nil {
		return err
	}
	return o.open(stdout, stderr, func(w io.Writer) error {
		o.prompt = cmp.Or(o.prompt, "\n")
		first, err := o.look(experiment{Text: o.prompt})
		if err != nil {
			return err
		}
		source, err := o.text(ctx, stderr)
		if err != nil {
			return err
		}
		data, err := source.Encode(o.tok, o.m.Config.BlockSize)
		if err != nil {
			return err
		}
		o.ids = make([]int, min(o.tokens, data.Val().Len()))
		if err := data.Val().Read(o.ids, 0); err != nil {
			return err
		}
		return o.serve(ctx, stdout, first)
	})
}

// serve serves the page until ctx ends.
func (o *exploring) serve(ctx context.Context, w io.Writer, first page.Changed) error {
	l, host, err := serve.Listen(o.address)
	if err != nil {
		return err
	}
	c := o.m.Config
	p := page.Explore{
		Title: title(o.dir, o.cp), Heads: c.NHead, Neurons: o.neurons() - 1, Prompt: o.prompt, First: first,
		About: fmt.Sprintf("%d blocks of %d heads, width %d. Change the model and see what it then predicts.", c.NLayer,
			c.NHead, c.NEmbd),
	}
	for block := range c.NLayer {
		p.Blocks = append(p.Blocks, fmt.Sprintf("h.%d", block))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.Write(w)
	})
	mux.HandleFunc("POST /look", func(w http.ResponseWriter, r *http.Request) {
		var q experiment
		body := http.MaxBytesReader(w, r.Body, 1<<16)
		if err := json.NewDecoder(body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		o.answer(w, func() (any, error) { return o.look(q) })
	})
	mux.HandleFunc("GET /neurons", func(w http.ResponseWriter, r *http.Request) {
		o.answer(w, func() (any, error) { return o.largest(r.FormValue("block"), r.FormValue("neuron")) })
	})
	mux.HandleFunc("GET /circuits", func(w http.ResponseWriter, _ *http.Request) {
		o.answer(w, func() (any, error) { return strongest(o.m) })
	})
	server := &http.Server{Handler: serve.Guard(host, serve.Text, mux), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { server.Close() })
	fmt.Fprintf(w, "explore %s at http://%s until Ctrl-C\n", o.dir, l.Addr())
	defer program.Waiting(w)()
	if err := server.Serve(serve.Limit(l, serve.Connections())); !errors.Is(err, http.ErrServerClosed) {
		return errors.Wrap(err, "-serve")
	}
	return nil
}

// answer writes what f returns as JSON.
func (o *exploring) answer(w http.ResponseWriter, f func() (any, error)) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	v, err := f()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// strongest returns the pairs of heads that compose most.
func strongest(m *gpt.Model) ([]inspect.Composition, error) {
	list, err := inspect.Compositions(m)
	slices.SortFunc(list, func(a, b inspect.Composition) int {
		return cmp.Compare(max(b.Query, b.Key, b.Value), max(a.Query, a.Key, a.Value))
	})
	return list[:min(len(list), 20)], err
}
