package kernels

// Kernel is one of the kernels of the module.
type Kernel uint8

// The kernels. Their names in the PTX are what String returns.
const (
	Fill Kernel = iota
	Cast
	Unary
	UnaryWide
	Binary
	BinaryWide
	Scale
	ScaleWide
	CopyStrided
	Count // the number of kernels
)

var names = [Count]string{
	Fill: "fill", Cast: "cast", Unary: "unary", UnaryWide: "unary_wide", Binary: "binary", BinaryWide: "binary_wide",
	Scale: "scale", ScaleWide: "scale_wide", CopyStrided: "copy_strided",
}

// String returns the kernel's name in the module.
func (k Kernel) String() string { return names[k] }
