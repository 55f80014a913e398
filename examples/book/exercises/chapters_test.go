package exercises

import "testing"

func TestChapter04(t *testing.T) { mark(t, 4, chapter04) }
