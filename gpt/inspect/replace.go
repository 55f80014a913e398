package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Replace returns the model in which every activation x that matches the pattern is replaced with edit(x), an
// expression of the same shape, for example one of Entries. It shares its parameters with m, is differentiated like any
// other model, and may be replaced in again. A Decoder of it processes only the newest tokens if the edits are made by
// Entries, or compute with graph.Graph.Rows, at places that exist in its steps: all except those between queries and
// heads. For other edits the Decoder computes the entire network over all tokens so far for each new one, so that the
// edit gets a full context.
func Replace(m *gpt.Model, pattern string, edit func(x graph.Expr) graph.Expr) (edited *gpt.Model, err error) {
	names, expanded, err := find(m, []string{pattern})
	if err != nil {
		return nil, err
	}
	batch := len(m.Tokens.Ints()) / m.Config.BlockSize
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.Spell(expanded...)
		for _, name := range names {
			g.Edit(name, edit)
		}
		edited, err = gpt.New(g, m.Config, batch)
		return err
	})
	if err != nil {
		return nil, errors.Wrap(err, "inspect")
	}
	return edited, nil
}
