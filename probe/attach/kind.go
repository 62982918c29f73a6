package attach

// Kind is the kind of a process without a probe, as far as the system says.
type Kind uint8

// The kinds of processes. They differ in the remedy for a missing probe.
const (
	UnknownKind  Kind = iota // it has ended, or the system does not say
	OtherKind                // none of those below
	PyTorchKind              // Python that has loaded PyTorch
	LauncherKind             // Python that starts other PyTorch programs, such as torchrun
	GoKind                   // a Go program
	TrainerKind              // memtrain
	KernelKind               // a thread of the kernel
)
