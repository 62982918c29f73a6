// Package ptx executes PTX, the language of which the driver makes a GPU's machine code:
// the kernels as they are shipped, instruction by instruction, in the test's process. It
// needs no GPU, and it is for tests.
//
// It computes as the machine does: integers and floating point to the bit. Where the
// language leaves bits open, a test chooses them, see [Freedom]. It reports what a
// kernel must not do and a GPU seldom shows: use of memory outside of an allocation or
// not aligned, reading what nothing has written, two threads that use the same bytes
// with nothing between them, an instruction for a whole warp that a part of it executes.
//
// A text goes this way:
//
//   - parse.go, function.go: text to statements.
//   - program.go, link.go, build.go, access.go: statements to instructions, in which all
//     names are numbers. A register is 32 words, one for each thread of a warp.
//   - flow.go: where the threads that a branch parts meet again.
//   - opcodes.go lists the instructions that compute a register of registers; lane.go,
//     compare.go, floating.go and convert.go have them. build.go lists all others.
//   - launch.go, block.go, warp.go: blocks, warps and threads take turns. move.go has
//     loads and stores, tensor.go products of a warp, async.go copies that a thread waits
//     for.
//   - freedom.go: results that the language leaves open.
//   - memory.go, place.go, races.go: which memory there is, where an address lies, and
//     who used it last.
//
// An instruction that no shipped module uses is not known; linking says so.
package ptx
