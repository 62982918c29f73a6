package cudatest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"

	"github.com/memtop/memtop/cmd/testing/hostbuild"
	"github.com/memtop/memtop/cmd/testing/ptx"
	"github.com/memtop/memtop/engine/device/cuda"
	"github.com/memtop/memtop/engine/device/cuda/kernels"
)

// module is a loaded module: its kernels, which can be executed if its text is known.
type module struct {
	names map[string]bool
	text  *ptx.Module
}

// kernel is a kernel of a module, ready to run if it can be executed.
type kernel struct {
	name    string
	program *ptx.Program
}

// moduleLoad loads machine code of the device or PTX.
func (d *Driver) moduleLoad(a []uintptr) cuda.Result {
	name, refused := "PTX", d.options.NoPTX
	var m module
	if string(bytesAt(a[1], 4)) == elf.ELFMAG {
		var number int
		m, name, number = image(imageAt(a[1]))
		refused = d.options.NoImages
		if own := 10*d.options.Major + d.options.Minor; number/10 != own/10 || number > own {
			refused = noBinary
		}
	} else {
		m = d.read(textAt(a[1]))
	}
	switch {
	case refused != success:
		return refused
	case len(m.names) == 0:
		return invalidValue
	}
	h := d.handle()
	d.modules[h] = m
	d.loads = append(d.loads, name)
	put64(a[0], h)
	return success
}

// imageAt returns machine code, which is an ELF file whose program headers are at
// its end.
func imageAt(p uintptr) []byte {
	header := bytesAt(p, 64)
	return bytesAt(p, int(binary.LittleEndian.Uint64(header[32:]))+56*int(binary.LittleEndian.Uint16(header[56:])))
}

// image reads machine code: its kernels, and for which machine it is.
func image(content []byte) (m module, name string, number int) {
	// Its version is that of the assembler, which package elf does not know.
	content = bytes.Clone(content)
	binary.LittleEndian.PutUint32(content[20:], uint32(elf.EV_CURRENT))
	file, err := elf.NewFile(bytes.NewReader(content))
	if err != nil {
		panic(fmt.Sprintf("cudatest: machine code: %v", err))
	}
	symbols, err := file.Symbols()
	if err != nil {
		panic(fmt.Sprintf("cudatest: machine code: %v", err))
	}
	m.names = make(map[string]bool)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && elf.ST_BIND(s.Info) == elf.STB_GLOBAL {
			m.names[s.Name] = true
		}
	}
	// The machine is in the header's flags, whose layout is a later one from
	// CUDA 12.8 on.
	flags := binary.LittleEndian.Uint32(content[48:])
	number = int(flags & 0xff)
	if file.ABIVersion >= 8 {
		number = int(flags >> 8 & 0xff)
	}
	name = fmt.Sprintf("sm_%d", number)
	if file.ABIVersion < 8 && flags&0x800 != 0 {
		name += "a"
	}
	return m, name, number
}

var entryPoint = regexp.MustCompile(`\.visible \.entry (\w+)\(`)

// read reads the kernels of PTX.
func (d *Driver) read(text string) module {
	m := module{names: make(map[string]bool)}
	for _, match := range entryPoint.FindAllStringSubmatch(text, -1) {
		m.names[match[1]] = true
	}
	if d.options.Execute != nil {
		var err error
		if m.text, err = ptx.Parse(text); err != nil {
			panic(fmt.Sprintf("cudatest: %v", err))
		}
	}
	return m
}

// function returns a handle for an entry point of a module.
func (d *Driver) function(a []uintptr) cuda.Result {
	m, ok := d.modules[uint64(a[1])]
	if !ok {
		return invalidValue
	}
	k := kernel{name: textAt(a[2])}
	if !m.names[k.name] {
		return unknownSymbol
	}
	if m.text != nil {
		var err error
		if k.program, err = m.text.Link(k.name); err != nil {
			panic(fmt.Sprintf("cudatest: %v", err))
		}
	}
	h := d.handle()
	d.kernels[h] = k
	put64(a[0], h)
	return success
}

// execute runs a kernel, with the driver locked.
func (d *Driver) execute(k kernel, l Launched) cuda.Result {
	var err error
	switch {
	case k.program != nil:
		err = d.machine.Run(k.program, ptx.Launch{Grid: l.Grid, Block: l.Block, Shared: l.Shared, Args: l.Args})
	case d.options.Run != nil:
		err = d.options.Run(l)
	default:
		return launchFailed
	}
	if err != nil && d.options.Execute != nil {
		d.options.Execute(err)
	}
	if err != nil {
		return launchFailed
	}
	return success
}

// Kernels runs launches on the host build of the kernels, for [Options].
func Kernels(l *hostbuild.Library) func(Launched) error {
	byName := make(map[string]kernels.Kernel, kernels.Count)
	for k := range kernels.Count {
		byName[k.String()] = k
	}
	return func(launched Launched) error {
		k, ok := byName[launched.Name]
		if !ok {
			return fmt.Errorf("cudatest: no kernel %q", launched.Name)
		}
		l.Enqueue(&kernels.Launch{Kernel: k, Grid: launched.Grid, Threads: launched.Block[0], Shared: launched.Shared, Args: launched.Args})
		return l.Err()
	}
}
