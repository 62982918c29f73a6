// Package category says what memory is for where the program does not: a
// category for every allocation, and the rule that gave it.
//
// Evidence is weighed in this order. What the writer noted is exact. Then the
// stack of the allocation names its maker. Backward, forward and the optimizer's
// step are told apart by what becomes of what they make: who frees it, and
// whether it outlives the pass. Memory from before recording is judged by the
// stack that frees it, and what is never freed by counting copies of each size.
// docs/answers.md has the rules and what misleads.
package category
