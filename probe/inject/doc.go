// Package inject starts the agent in a running Python program that has none.
//
// [NewPlan] reads what the system tells about the program, and decides how to go in, or says
// why that is impossible and what to do instead. It does not touch the program. [Plan.Start]
// goes in. From Python 3.14 on, the program's own interpreter does it; for older versions a
// debugger, gdb or lldb, calls one function in the program.
//
// # No harm
//
// The debugger stops the program at an arbitrary place, where the program may hold a lock of
// the memory allocator or of the interpreter. So the functions called there need neither lock:
// the system call mmap gets room for a line of Python, and Py_AddPendingCall adds that line to
// the interpreter's list of pending calls. Then the debugger leaves, and the program's main
// thread runs the line between two of its own instructions. No breakpoint is set and no thread
// waits. If the debugger is killed, except during such a call, the program goes on as before.
//
// A memtop that has more rights than the program first takes the program's rights: see
// "Becoming the program" in become_linux.go. For that, main has to call [Attend].
//
// The line runs a file that imports the agent in a thread of its own. If memtop gives up
// before that, it removes the file, and the line does nothing.
package inject
