package debuginfo

import (
	"os"
	"path/filepath"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/twin"
)

// Drops reports whether lines of a source file assign nil to a variable. The file has the name that
// the compiler gave it. It reads the file.
func Drops(file, variable string, from, to int) bool {
	if !filepath.IsAbs(file) {
		file = twin.SourceFile(file)
	}
	src, err := os.ReadFile(file)
	return err == nil && dropsIn(src, variable, from, to)
}

func dropsIn(src []byte, variable string, from, to int) bool {
	s := tokens{src: src, line: 1}
	last := byte(0)
	for matched := 0; ; {
		tok, text := s.next()
		after := last
		last = tok
		switch {
		case tok == 0 || s.line > to:
			return false
		case matched == 2 && tok == word && string(text) == "nil":
			return true
		case matched == 1 && tok == '=':
			matched = 2
		case tok == word && string(text) == variable && after != ',' && s.line >= from:
			matched = 1
		default:
			matched = 0
		}
	}
}
