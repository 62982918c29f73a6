// All kernels, as one module.
#include "elementwise.cu"
#include "strided.cu"
