// Package inject starts the agent in a Python program that runs and has none.
//
// [NewPlan] looks at what the system says of the program and decides how to go in,
// or says why that cannot be and what to do instead; it does not touch the program.
// [Plan.Start] goes in. From Python 3.14 on the program's own interpreter does it;
// for older ones a debugger, gdb or lldb, calls one function in the program.
//
// # No harm
//
// The debugger stops the program at an arbitrary place, where a lock of the memory
// allocator or of the interpreter may be held. So what is called there needs neither:
// mmap, a system call, gets room for a line of Python, and Py_AddPendingCall puts
// that line into the interpreter's list of what to do next. The debugger leaves, and
// the program's main thread runs the line between two of its own instructions. No
// breakpoint is set and no thread waits: a debugger that is killed, but for the
// moment of such a call, leaves the program running as it was.
//
// Whoever may do more than the program becomes the program before: see "Becoming the
// program" in become_linux.go. [Attend] is what main has to call for that.
//
// The line runs a file that imports the agent in a thread of its own. If memtop gives
// up before, it removes the file, and the line does nothing.
package inject
