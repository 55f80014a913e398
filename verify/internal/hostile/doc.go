// Package hostile calls everything that the packages of the library export with wrong arguments: zero values, nil,
// wrong sizes, numbers that are not finite, values of another graph or with an error. The calls are derived from the
// packages themselves: valid arguments, including the receiver, one of which is replaced by each wrong value of its
// type. No call may panic or allocate memory for sizes that do not exist, and every call that can return an error must
// return one. Calls that are valid although they look wrong are listed in allowed_test.go, with the reason.
package hostile
