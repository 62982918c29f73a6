// Package host makes a ledger of what a program has of the machine's memory: rows
// that add up to what the kernel charges, the limit that ends it, and which row
// grows from step to step. docs/answers.md explains it.
package host
