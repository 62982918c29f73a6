package pytorch

// object reads the next object and calls field at each key, to read the value.
func (p *plotReader) object(field func(key string) error) error {
	kind, err := p.next()
	if err != nil {
		return err
	}
	if kind != jsonObject {
		return p.corrupt("the plot data is not an object")
	}
	return p.members(field)
}

// members is object after the opening bracket.
func (p *plotReader) members(field func(key string) error) error {
	for {
		kind, err := p.next()
		if err != nil || kind == jsonObjectEnd {
			return err
		}
		if err := field(string(p.text)); err != nil {
			return err
		}
	}
}

// array reads the next array, or null, and calls item with the first token of
// each item.
func (p *plotReader) array(item func(kind jsonKind) error) error {
	kind, err := p.next()
	switch {
	case err != nil || kind == jsonNull:
		return err
	case kind != jsonArray:
		return p.corrupt("a list is expected here")
	}
	return p.items(item)
}

// items is array after the opening bracket.
func (p *plotReader) items(item func(kind jsonKind) error) error {
	for {
		kind, err := p.next()
		if err != nil || kind == jsonArrayEnd {
			return err
		}
		if err := item(kind); err != nil {
			return err
		}
	}
}

// integers appends the next array to list; null counts as -1.
func (p *plotReader) integers(list *[]int64) error {
	return p.array(func(kind jsonKind) error {
		n, err := p.number64(kind)
		if err != nil {
			return err
		}
		*list = append(*list, n)
		return p.charge(plotItemBytes)
	})
}

// integer reads one integer; null leaves n as it is.
func (p *plotReader) integer(n *int64) error {
	kind, err := p.next()
	if err != nil || kind == jsonNull {
		return err
	}
	*n, err = p.number64(kind)
	return err
}

// number64 returns the integer that was just read, -1 for null.
func (p *plotReader) number64(kind jsonKind) (int64, error) {
	if kind == jsonNull {
		return -1, nil
	}
	n, ok := p.scalar(kind).integer()
	if !ok {
		return 0, p.corrupt("an integer is expected here")
	}
	return n, nil
}

func (p *plotReader) texts(list *[]string) error {
	return p.array(func(kind jsonKind) error {
		if kind != jsonString {
			return p.corrupt("a string is expected here")
		}
		*list = append(*list, string(p.text))
		return p.charge(len(p.text) + plotItemBytes)
	})
}

// skip skips the next value.
func (p *plotReader) skip() error {
	for depth := 0; ; {
		kind, err := p.next()
		if err != nil {
			return err
		}
		switch kind {
		case jsonObject, jsonArray:
			depth++
		case jsonObjectEnd, jsonArrayEnd:
			depth--
		case jsonKey:
			continue
		default:
		}
		if depth == 0 {
			return nil
		}
	}
}
