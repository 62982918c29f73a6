// Named prints its version, for a test.
package main

import (
	"fmt"

	"github.com/memtop/memtop/cmd/command"
)

func main() { fmt.Println(command.Version("named")) }
