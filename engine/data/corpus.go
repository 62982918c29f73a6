package data

import _ "embed"

//go:embed corpus.txt
var corpus []byte

// Corpus returns the tokens of the text that comes with the program, so that a
// first run needs no data. It was written for this purpose.
func Corpus() *Tokens { return Bytes("the built-in text", corpus) }
