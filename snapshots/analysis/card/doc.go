// Package card makes a ledger of a device's memory: rows that add up to what the
// driver says is used, from PyTorch's pools to other processes. docs/answers.md
// explains it. Package host does the same for the machine's memory.
package card
