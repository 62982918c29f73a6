package data

// Batch is a staging buffer with the samples of one step.
type Batch struct {
	Number int64 // of the batch since the beginning of training
	Size   int   // samples
	Spec   Spec
	// Input and Target hold the samples one after the other.
	Input, Target []byte
	home          chan<- *Batch
}

func newBatch(s Spec, size int, home chan<- *Batch) *Batch {
	return &Batch{
		Size: size, Spec: s, home: home, Input: make([]byte, size*s.Input.Bytes()), Target: make([]byte, size*s.Target.Bytes()),
	}
}

// Empty returns a batch of zeros that belongs to no loader.
func Empty(s Spec, size int) *Batch { return newBatch(s, size, nil) }

// Release gives the buffer back to be filled again. The batch must not be used
// after it.
func (b *Batch) Release() {
	if b.home != nil {
		b.home <- b
	}
}

// Part returns the bytes of n samples from number start on.
func (b *Batch) Part(start, n int) (input, target []byte) {
	in, out := b.Spec.Input.Bytes(), b.Spec.Target.Bytes()
	return b.Input[start*in : (start+n)*in], b.Target[start*out : (start+n)*out]
}

func (b *Batch) sample(i int) Sample {
	input, target := b.Part(i, 1)
	return Sample{Input: input, Target: target}
}
