package pytorch

// salvage closes the containers that are open where a file ends early: lists
// keep their items; the dict being read is dropped, and so are the dicts around
// it except the outermost, which is the snapshot itself.
func (m *machine) salvage() error {
	m.snapshot.truncatedAt = m.base + int64(m.end)
	for len(m.marks) > 0 {
		if err := m.salvageMark(); err != nil {
			return err
		}
	}
	for len(m.stack) > 1 {
		if err := m.salvageTop(); err != nil {
			return err
		}
	}
	if len(m.stack) == 0 {
		return m.corrupt("the file ends before anything could be read")
	}
	return nil
}

// salvageMark closes the container below the last mark. A mark without one
// began a tuple, which is dropped with its items.
func (m *machine) salvageMark() error {
	at := m.floor()
	below := 0
	if n := len(m.marks); n > 1 {
		below = m.marks[n-2]
	}
	var container value
	if at > below {
		container = m.resolve(m.stack[at-1])
	}
	switch {
	case container.tag == tagList || container.tag == tagStack:
		return m.appends()
	case container.tag == tagDict && at == 1:
		if err := m.foldValue(at); err != nil {
			return err
		}
		return m.setItems()
	default:
		m.stack = m.stack[:max(at-1, below)]
		m.marks = m.marks[:len(m.marks)-1]
		return nil
	}
}

// foldValue folds the outermost dict's items from slot at on into keys and
// values. A list of one item is filled without a mark, so above the last key
// there may be a list, its item, and that item's item.
func (m *machine) foldValue(at int) error {
	last := len(m.stack) - 1
	for last >= at && m.stack[last].tag != tagString {
		last--
	}
	for len(m.stack) > last+2 && last >= at {
		if err := m.salvageTop(); err != nil {
			return err
		}
	}
	if last < at || len(m.stack) == last+1 {
		m.stack = m.stack[:max(last, at)] // no key, or a key without a value
	}
	return nil
}

// salvageTop folds the top of the stack into the container below it, for protocol
// 0, which puts items into containers one by one and needs no marks.
func (m *machine) salvageTop() error {
	top := len(m.stack) - 1
	below := m.resolve(m.stack[top-1])
	switch {
	case m.stack[top].tag != tagDict && (below.tag == tagList || below.tag == tagStack):
		return m.appendOne()
	case below.tag == tagString && top == 2 && m.stack[0].tag == tagDict:
		return m.setItem()
	default:
		m.stack = m.stack[:top]
		return nil
	}
}
