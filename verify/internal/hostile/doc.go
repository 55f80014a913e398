// Package hostile calls everything that the packages of the library export with what nobody should hand in: zero
// values, nil, wrong sizes, what is not finite, what is of another graph or has failed. The calls are made from the
// packages themselves: well-made arguments, one of which is replaced by each wrong value of its type, the receiver too.
// Nothing may panic or allocate for what is not there, and where an error can come, it has to come; what is right
// though it looks wrong is in allowed_test.go, with the reason.
package hostile
