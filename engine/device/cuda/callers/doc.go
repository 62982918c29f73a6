// Package callers sees who takes memory of NVIDIA's driver in a program: a library in
// C (folder library) that the program loads before all others. It passes the calls
// on that take memory or give it back, and keeps who called. The agent in the program
// reads that. Package prebuilt says how the library is built.
//
// The library waits for nothing, fails no call, and has a table of fixed size. See
// docs/decisions/0026-calls-of-the-driver-are-watched.md.
package callers

//go:generate go run ../../../../cmd/tools/librarygen -name libmemtop-callers.so
