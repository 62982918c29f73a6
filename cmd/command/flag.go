package command

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// wanted describes the values that flags of a type take.
var wanted = map[string]string{
	"int": "a number", "int64": "a number", "float64": "a number", "uint64": "a whole number, 0 or more", "bool": "true or false",
	"duration": "a time such as 500ms, 30s or 2m", "DURATION": "a time such as 500ms, 30s or 2m",
}

// FlagCause says what is wrong with a flag, without the words of the parsing
// functions.
func FlagCause(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	cause := invalid.Unwrap().Error()
	if want, known := wanted[invalid.GetFlag().Value.Type()]; known {
		cause = "want " + want
	}
	return fmt.Sprintf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), cause)
}
