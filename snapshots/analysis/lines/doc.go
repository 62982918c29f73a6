// Package lines finds the line of code that memory is from. [Code] sorts the
// frames of a trace into the program's own, those of libraries, and those that
// only lie between these and the allocator. A [Table] adds memory up by line, by
// function, by file or by module.
//
// The program's own code is Python that was not installed: its file lies in no
// folder of packages, belongs neither to PyTorch nor to the standard library, and
// was not generated. If a stack has no such line, the innermost line of an
// installed package stands in; if it has none of those either, the PyTorch
// operation does.
package lines
