package graph

import (
	"context"

	"github.com/pkg/errors"
)

// SetContext makes building, differentiating and compiling g fail as soon as ctx is done. The error wraps the cause of
// its end. Programs that are already compiled continue to run, and siblings have no context. context.Background or nil
// removes the context. Sorting the nodes is not interrupted.
func (g *Graph) SetContext(ctx context.Context) {
	if g != nil {
		g.context = ctx
	}
}

// interrupted returns the error of g after its context has ended.
func (g *Graph) interrupted() error {
	if g.context == nil || g.context.Err() == nil {
		return nil
	}
	if g.err == nil {
		g.err = errors.Wrap(context.Cause(g.context), "building was stopped")
	}
	return g.err
}
