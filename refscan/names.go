package refscan

import "github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"

// Declaration returns where a package variable is declared, "" and 0 if that is not known. The
// compiler does not record it. So Declaration reads the package's sources, if they are available:
// it takes some milliseconds, and is meant for messages.
func (r *Report) Declaration(variable string) (file string, line int) {
	if r.index == nil {
		return "", 0
	}
	return (&debuginfo.Inventory{Index: r.index}).Declaration(variable)
}
