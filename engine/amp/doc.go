// Package amp is mixed precision: automatic casts by a table of operations, a
// loss scale for float16, and whole models in half precision.
//
// Under [Autocast] the parameters stay float32, the master weights. Operations
// of the first list of the table get their operands in the lower type; each
// weight is converted once a step and the copy kept as workspace for as long as
// the step may need it. The lists are PyTorch's, by operation.
//
// Float16 overflows and underflows where bfloat16 does not, so its gradients are
// scaled: see [Scaler].
package amp
