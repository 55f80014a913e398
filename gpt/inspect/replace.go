package inspect

import (
	"github.com/pedestrian-ml/pedestrian/gpt"
	"github.com/pedestrian-ml/pedestrian/graph"
	"github.com/pkg/errors"
)

// Replace returns the model in which, in place of every activation that matches the pattern, goes on what edit makes of
// it: an expression of the same shape, of which those of Entries are some. It shares its parameters with m, is
// differentiated like any other model, and may be replaced in again. A Decoder of it takes the newest tokens alone
// where edits are those of Entries, or ask for graph.Graph.Rows, in places that it has too: all but those between
// queries and heads. For others it takes all tokens so far through the whole network for each new one, so that the edit
// sees a whole context.
func Replace(m *gpt.Model, pattern string, edit func(x graph.Expr) graph.Expr) (edited *gpt.Model, err error) {
	names, spelt, err := find(m, []string{pattern})
	if err != nil {
		return nil, err
	}
	batch := len(m.Tokens.Ints()) / m.Config.BlockSize
	_, err = m.Graph.BuildSibling(func(g *graph.Graph) (err error) {
		g.Spell(spelt...)
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
