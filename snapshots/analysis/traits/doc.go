// Package traits knows what frames do by their names: which functions of PyTorch, of
// libraries, and which habits of naming belong to an optimizer's step, a backward pass, a
// cache, a loss. It is the one vocabulary of names that categories, savings and
// differences share.
//
// The package looks at one frame at a time. What a stack of them means, and what an
// allocation's life adds to it, is for those who ask.
package traits
