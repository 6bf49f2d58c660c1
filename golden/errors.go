package golden

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A SyntaxError says where a golden file is wrong and what was expected there.
type SyntaxError struct {
	File   string // the name given to Parse
	Line   int    // from 1
	Column int    // in bytes, from 1, as in the Go compiler's messages
	Msg    string // what was expected and what was found
}

// Error returns "file:line:column: message".
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
}

// A VersionError says that a golden file has a format that this version of the package cannot read.
type VersionError struct {
	File    string // the name given to Parse
	Version string // as in the header, without the v
}

// Error says which version was found, which can be read, and what to do.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s:1: unknown golden format v%s, this leakgate reads v%d: "+
		"use the version of github.com/leakgate/leakgate that wrote the file, or delete the file and update",
		e.File, e.Version, Version)
}

// A CaseError says that a file's name differs only in case from one that exists, so that the two
// would be one file on a system that does not tell case apart.
type CaseError struct {
	Path     string // the file asked for
	Existing string // the file or folder in its way
}

// Error names both paths and says what to do.
func (e *CaseError) Error() string {
	return fmt.Sprintf("golden: %s differs only in case from %s, which is the same file on some systems: "+
		"rename one of the two tests, or give this one a golden name of its own", e.Path, e.Existing)
}

// clip shortens text that an error quotes.
func clip(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strings.TrimSpace(s[:end]) + "..."
}
