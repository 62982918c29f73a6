package cuda

// Found is an NVIDIA library that was found by [Libraries]: loaded, or the reason
// why it cannot be. If a Python program was asked and gave no answer, Path is
// that of the program. Libraries yields all that have one of the names, the
// preferred one first, and looks for the next only when it is asked for. A
// library must have all the functions.
type Found struct {
	Path      string    // the file
	Functions []uintptr // their addresses, in the order of the names
	Err       error
}
