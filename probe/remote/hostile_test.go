package remote

import (
	"io"
)

// hostile are far ends that are none.
var hostile = map[string]func(io.Reader, io.Writer){}
