// Package hostile calls everything that packages export with what nobody should hand in: zero values, nil, wrong sizes,
// what is of another graph or has failed. Its tests ask for an error, never a panic; a function or type that is not on
// their list fails them, so what is new is called as well.
package hostile
