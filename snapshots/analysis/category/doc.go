// Package category infers the purpose of memory if the program does not say it:
// it gives every allocation a category, and names the rule that gave it.
//
// The package weighs evidence in this order. A category that the writer noted is
// exact. Next, the stack of the allocation names the code that made it. For
// memory that backward, forward and the optimizer's step make, the life of the
// allocation decides: which code frees it, and whether it outlives the pass.
// Memory from before recording is judged by the stack that frees it. If it is
// never freed, it is judged by the number of blocks of its size. docs/answers.md
// has the rules and the cases in which they err.
package category
