package tensor

// # Memory that several processes share
//
// Processes that train together may divide what each would else have whole: of
// every tensor each holds its part. A shared device is the memory of all of them,
// as one of them sees it. A tensor there takes its part of the bytes in the
// process's own memory; brought to the device it is gathered, and brought back it is
// divided. Only a rehearsal has one: it counts memory, and nothing is gathered.

// Shared returns the memory that so many processes, each with a device as d, have
// together. Each holds an even part of every tensor, rounded up, as of the flat
// buffers that implementations divide. d is one that computes nothing.
func (d *Device) Shared(processes int) *Device {
	s := d.parted(int64(processes))
	s.passing = d.parted(passingParts)
	return s
}

// passingParts is a number of parts of which one is nothing.
const passingParts = 1 << 62

func (d *Device) parted(n int64) *Device {
	o := d.options
	o.parts = n
	s := NewDevice(d.name, d.memory, d.backend, o)
	s.whole = d
	return s
}

// Passing returns where tensors are that are made of those on d only to be brought
// elsewhere: on d, unless it is shared. There a part is converted as it is gathered,
// and takes no memory of its own.
func (d *Device) Passing() *Device {
	if d.passing != nil {
		return d.passing
	}
	return d
}

// own returns how many of n bytes the process has itself.
func (d *Device) own(n int64) int64 {
	if d.options.parts == 0 || n == 0 {
		return n
	}
	return (n-1)/d.options.parts + 1
}
