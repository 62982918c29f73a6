// Command memtrain trains a small model on the engine: the reference run of the
// project, and the process that memtop attaches to. All of it is in package
// program, which memtop demo runs as well.
package main

import (
	"os"

	"memtop/cmd/memtrain/program"
)

func main() { os.Exit(program.Run(os.Args[1:], os.Stdout, os.Stderr, nil)) }
