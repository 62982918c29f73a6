// Package truthtest holds answers against the truth: programs of many kinds run
// with PyTorch's own allocator on the imitated GPU, record a snapshot as users do,
// and say themselves what each block is, where steps end, and what remains after the
// change that a finding proposes. See programs/truth.py.
package truthtest
