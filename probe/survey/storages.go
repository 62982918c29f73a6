package survey

const activation = "activation" // a category

// play returns what the step needs without the absent storages. A cast is absent from
// the end of the forward on.
func (s *Step) play(absent map[int64]int64) (most needs) {
	gone, casts := make(map[int64]int64), make(map[int64]string) // casts with their categories
	for number, call := range absent {
		if s.Storages[number].Cast && call != never {
			casts[number] = ""
		} else {
			gone[number] = call
		}
	}
	var now needs
	move := func(number int64, before, after string) {
		now.add(before, -s.Storages[number].Size)
		now.add(after, s.Storages[number].Size)
		if now.peak > most.peak {
			most = now
		}
	}
	for _, m := range s.Moments {
		switch call := -1 - m.Storage; {
		case m.Storage >= 0:
			if _, cast := casts[m.Storage]; cast {
				casts[m.Storage] = m.After
			}
			if _, is := gone[m.Storage]; !is {
				move(m.Storage, m.Before, m.After)
			} else if m.After == "" {
				delete(gone, m.Storage) // no backward used it
			}
		case call == never: // the forward ends
			for number, category := range casts {
				if category != "" {
					move(number, category, "")
					gone[number] = absent[number]
					delete(casts, number)
				}
			}
		default:
			for number, of := range gone {
				if of == call {
					move(number, "", activation)
					delete(gone, number)
				}
			}
		}
	}
	return most
}

func (n *needs) add(category string, bytes int64) {
	if category != "" {
		n.peak += bytes
	}
	if category == activation {
		n.activations += bytes
	}
}
