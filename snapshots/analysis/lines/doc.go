// Package lines tells whose line memory is from. [Code] judges the frames of a
// trace: which are the program's own, which a library's, and which only stand
// between the two and the allocator. A [Table] adds memory up by line, by
// function, by file or by module.
//
// The program's own code is Python that was not installed: what lies in no folder
// of packages, is neither PyTorch's nor the standard library's, and was not
// generated. Where a stack has none, the innermost line of an installed package
// stands in, and where it has none of those either what PyTorch was asked to do.
package lines
