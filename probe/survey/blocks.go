package survey

import "slices"

const block = "block" // the category of all memory on a device

// onDevice returns the step as the device's allocator saw it: each block is a storage,
// with the number of the one that the agent knows there, if it knows one.
func (s *Step) onDevice() *Step {
	d := &Step{Storages: slices.Clone(s.Storages)}
	made, turns := s.requests()
	alive := make(map[uint64]int64) // by address, the number of the block's storage
	d.move(d.add(s.Memory.Begun), "", block)
	for i, c := range s.Memory.Changes {
		d.Moments = append(d.Moments, turns[i]...)
		if c.Bytes < 0 {
			number, known := alive[c.Addr]
			if !known { // it was there before the step
				number = d.add(-c.Bytes)
			}
			d.move(number, block, "")
			continue
		}
		number, known := made[i]
		if !known {
			number = d.add(c.Bytes)
		}
		d.Storages[number].Size, alive[c.Addr] = c.Bytes, number
		d.move(number, "", block)
	}
	return d
}

func (s *Step) add(size int64) (number int64) {
	s.Storages = append(s.Storages, Storage{Size: size})
	return int64(len(s.Storages) - 1)
}

func (s *Step) move(number int64, before, after string) {
	s.Moments = append(s.Moments, Moment{Storage: number, Before: before, After: after})
}

// requests returns the storage whose block each request made, which was the last at its
// address before the storage was known; and the moments before each request at which
// the forward ended or a backward began.
func (s *Step) requests() (made map[int]int64, turns map[int][]Moment) {
	made, turns = make(map[int]int64), make(map[int][]Moment)
	at := make(map[uint64][]int)
	for i, c := range s.Memory.Changes {
		if c.Bytes > 0 {
			at[c.Addr] = append(at[c.Addr], i)
		}
	}
	for _, m := range s.Moments {
		if m.Storage < 0 {
			turns[int(m.Requests)] = append(turns[int(m.Requests)], m)
			continue
		}
		requests := at[s.Storages[m.Storage].Addr]
		if k, _ := slices.BinarySearch(requests, int(m.Requests)); k > 0 {
			made[requests[k-1]] = m.Storage
		}
	}
	return made, turns
}
