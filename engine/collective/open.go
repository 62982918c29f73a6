package collective

// Open joins the processes that a launcher has started, and returns nil where there
// is no other. An [UnavailableError] says that there is nothing to meet by.
func Open() (Group, error) {
	_, many, err := Launched()
	if err != nil || !many {
		return nil, err
	}
	l, err := loadMPI()
	if err != nil {
		return nil, err
	}
	m, err := openMPI(l)
	if err != nil {
		return nil, err
	}
	return m, nil
}
