package wire_test

import (
	"encoding/binary"
	"hash/crc32"
)

// sum returns the checksum that follows a frame.
func sum(frame []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(frame, crc32.MakeTable(crc32.Castagnoli)))
}
