package main

// figures holds the pictures and tables of the chapters by name. Each computes its numbers when the book is written.
var figures = map[string]func() (string, error){
	"layer-norm": figureLayerNorm,
}

// numbers holds the numbers in the text by name.
var numbers = map[string]func() (string, error){}
