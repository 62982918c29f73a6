package cudatest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"regexp"

	"github.com/memtop/memtop/engine/device/cuda"
)

// module is a loaded module: its kernels.
type module map[string]bool

// moduleLoad loads machine code of the device or PTX.
func (d *Driver) moduleLoad(a []uintptr) cuda.Result {
	name, refused := "PTX", d.options.NoPTX
	var m module
	if string(bytesAt(a[1], 4)) == elf.ELFMAG {
		var number int
		m, name, number = image(imageAt(a[1]))
		refused = d.options.NoImages
		if own := 10*d.options.Major + d.options.Minor; number/10 != own/10 || number > own || name == "sm_90a" && own != 90 {
			refused = noBinary
		}
	} else {
		m = ptx(textAt(a[1]))
	}
	switch {
	case refused != success:
		return refused
	case len(m) == 0:
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
	m = make(module)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && elf.ST_BIND(s.Info) == elf.STB_GLOBAL {
			m[s.Name] = true
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

// ptx reads the kernels of PTX.
func ptx(text string) module {
	m := make(module)
	for _, match := range entryPoint.FindAllStringSubmatch(text, -1) {
		m[match[1]] = true
	}
	return m
}

// function returns a handle for an entry point of a module.
func (d *Driver) function(a []uintptr) cuda.Result {
	m, ok := d.modules[uint64(a[1])]
	if !ok {
		return invalidValue
	}
	name := textAt(a[2])
	if !m[name] {
		return unknownSymbol
	}
	h := d.handle()
	d.kernels[h] = name
	put64(a[0], h)
	return success
}
