//go:build !linux

package main

import "os"

// narrowPipe returns a pipe: what starts trainers skips itself where there is no /proc.
func narrowPipe() (r, w *os.File, err error) { return os.Pipe() }
