package rehearse

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/memtop/memtop/snapshots/report"
)

// Values are the values that a rehearsed program reads from the device.
type Values struct {
	Most Upper
	Set  Lines
}

// name returns which values the program reads where a value decides a size.
func (v *Values) name() string { return v.Most.String() }

// ones are read in place of zeros by a second run, to see whether sizes depend on it.
const ones = "ones"

// Upper says whether sizes are the largest possible.
type Upper bool

// Set reads one of two words.
func (u *Upper) Set(text string) error {
	if text != report.ValuesZeros && text != report.ValuesUpper {
		return errors.New("it is zeros or upper")
	}
	*u = text == report.ValuesUpper
	return nil
}

// String returns the word.
func (u *Upper) String() string {
	if *u {
		return report.ValuesUpper
	}
	return report.ValuesZeros
}

// Type names the values for help.
func (u *Upper) Type() string { return "string" }

// Steps is the number of the step after which the program ends, 0 for when its peak stays and -1 for its own end.
type Steps int

// Set reads a number of steps, or all.
func (s *Steps) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case text == "all":
		n = -1
	case err != nil || n < 1:
		return errors.New("it is a number of steps, or all")
	}
	*s = Steps(n)
	return nil
}

// String returns nothing for the default.
func (s *Steps) String() string {
	switch *s {
	case -1:
		return "all"
	case 0:
		return ""
	}
	return strconv.Itoa(int(*s))
}

// Type names the values for help.
func (s *Steps) Type() string { return "string" }

// Caught says whether a program fits that catches its lack of memory.
type Caught string

// The values of Caught. Without one it fits if it made steps afterwards.
const (
	CaughtFits  Caught = "fits"
	CaughtFails Caught = "fails"
)

// Set reads one of three words.
func (c *Caught) Set(text string) error {
	switch *c = Caught(text); *c {
	case "auto", CaughtFits, CaughtFails:
		return nil
	}
	return errors.New("it is auto, fits or fails")
}

// String returns the word.
func (c *Caught) String() string { return cmp.Or(string(*c), "auto") }

// Type names the values for help.
func (c *Caught) Type() string { return "string" }

// Lines holds the values that source lines read, each as FILE:NUMBER=VALUE.
type Lines []string

var lineAndValue = regexp.MustCompile(`^([^\n]+:[1-9][0-9]{0,8})=(.+)$`)

// Set reads one.
func (s *Lines) Set(text string) error {
	parts := lineAndValue.FindStringSubmatch(text)
	if parts == nil {
		return errors.New("it is a line and its value, such as gpt.py:16=128")
	}
	value, err := readNumber(parts[2])
	if err != nil {
		return err
	}
	*s = append(*s, parts[1]+"="+value)
	return nil
}

// readNumber returns a number as Python reads it.
func readNumber(text string) (string, error) {
	switch strings.ToLower(text) {
	case "true":
		return "1", nil
	case "false":
		return "0", nil
	}
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return text, nil
	}
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(number, 'e', -1, 64), nil
	}
	return "", fmt.Errorf("%q is no number, true or false", text)
}

// String returns all.
func (s *Lines) String() string { return strings.Join(*s, " ") }

// Type names the values for help.
func (s *Lines) Type() string { return "string" }
